/* Ends what pshpack1.h and its likes began. */
#pragma pack(pop)
