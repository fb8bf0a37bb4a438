/* Structures from here to poppack.h are packed to 4 bytes. */
#pragma pack(push, 4)
