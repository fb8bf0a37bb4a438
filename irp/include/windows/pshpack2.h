/* Structures from here to poppack.h are packed to 2 bytes. */
#pragma pack(push, 2)
