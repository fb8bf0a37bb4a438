/* Structures from here to poppack.h are packed to 8 bytes. */
#pragma pack(push, 8)
