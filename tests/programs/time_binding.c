/* Who answers a call of time(): the object that the loader has bound it to.
 *
 *     time_binding PLUGIN
 *
 * prints the file that answers this program's calls, the one that answers those of
 * PLUGIN, which it loads: this source as a library, compiled with -DPLUGIN; and whether a
 * pointer to time() from before the start is the same as one taken now.
 *
 * Exit status: 0 printed, 1 the slot or the plugin was not found.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __aarch64__
#define GLOB_DAT R_AARCH64_GLOB_DAT
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#else
#define GLOB_DAT R_X86_64_GLOB_DAT
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#endif

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static ElfW(Addr) entry(ElfW(Sxword) tag)
{
	for (ElfW(Dyn) *line = _DYNAMIC; line->d_tag != DT_NULL; line++)
		if (line->d_tag == tag)
			return line->d_un.d_ptr;
	return 0;
}

/* The slot of this object that holds the address of time(). */
static void **slot(ElfW(Addr) base)
{
	const ElfW(Sym) *symbols = (const ElfW(Sym) *)entry(DT_SYMTAB);
	const char *names = (const char *)entry(DT_STRTAB);
	ElfW(Addr) tables[] = { entry(DT_RELA), entry(DT_JMPREL) };
	ElfW(Addr) sizes[] = { entry(DT_RELASZ), entry(DT_PLTRELSZ) };
	for (int t = 0; t < 2; t++) {
		const ElfW(Rela) *relocation = (const ElfW(Rela) *)tables[t];
		for (size_t n = sizes[t] / sizeof *relocation; n > 0; n--, relocation++) {
			unsigned type = ELF64_R_TYPE(relocation->r_info);
			const char *name = names + symbols[ELF64_R_SYM(relocation->r_info)].st_name;
			if ((type == GLOB_DAT || type == JUMP_SLOT) && strcmp(name, "time") == 0)
				return (void **)(base + relocation->r_offset);
		}
	}
	return NULL;
}

static const char *who_answers(void)
{
	Dl_info self, answer;
	/* A lazy slot is filled at the first call. */
	if (time(NULL) == (time_t)-1 || !dladdr(_DYNAMIC, &self))
		return NULL;
	const ElfW(Ehdr) *header = self.dli_fbase;
	void **at = slot(header->e_type == ET_EXEC ? 0 : (ElfW(Addr))self.dli_fbase);
	return at && dladdr(*at, &answer) ? answer.dli_fname : NULL;
}

#ifdef PLUGIN
const char *plugin_answer(void)
{
	return who_answers();
}
#else
static time_t (*volatile held)(time_t *) = time;

int main(int argc, char **argv)
{
	const char *here = who_answers();
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;
	if (!here || !plugin) {
		fprintf(stderr, "time_binding: %s\n", here ? dlerror() : "no slot for time()");
		return 1;
	}
	const char *(*answer)(void) = (const char *(*)(void))dlsym(plugin, "plugin_answer");
	const char *there = answer ? answer() : NULL;
	if (!there) {
		fprintf(stderr, "time_binding: no answer from the plugin\n");
		return 1;
	}
	time_t (*volatile taken)(time_t *) = time;
	printf("%s\n%s\n%s\n", here, there, held == taken ? "one pointer" : "two pointers");
	return 0;
}
#endif
