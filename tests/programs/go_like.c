/* Carries the marks by which a Go program is known (its build id note and its build
 * information), so that no Go compiler is needed to test that it is known. */
#include <stdio.h>

__asm__(".section .note.go.buildid,\"a\",%note\n"
        ".balign 4\n"
        ".long 4\n"  /* length of the name */
        ".long 12\n" /* length of the build id */
        ".long 4\n"  /* ELF_NOTE_GOBUILDID_TAG */
        ".asciz \"Go\\0\"\n"
        ".ascii \"escapement/1\"\n"
        ".section .go.buildinfo,\"aw\",%progbits\n"
        ".balign 16\n"
        ".ascii \"\\377 Go buildinf:\"\n"
        ".byte 8, 2\n"
        ".zero 16\n"
        ".byte 8\n"
        ".ascii \"go1.19.8\"\n"
        ".byte 0\n"
        ".previous\n");

int main(void)
{
    puts("the program ran");
    return 0;
}
