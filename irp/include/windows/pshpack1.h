/* Structures from here to poppack.h are packed to 1 bytes. */
#pragma pack(push, 1)
