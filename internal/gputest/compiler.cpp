//go:build ignore

// The run-time compiler: g++ over the program and device.h.
#include "emulator.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace gpuemu {

// Statuses of NVRTC and hiprtc.
enum { CompilerInvalidProgram = 4, CompilerInvalidOption = 5, CompilerFailed = 6, BuiltinsFailed = 7, CompilerBroken = 11 };

struct Program {
	std::string text, name, log, image;
};

// here is the folder of this library, where device.h lies too.
static std::string here()
{
	Dl_info info;
	dladdr(reinterpret_cast<void *>(&here), &info);
	std::string path = info.dli_fname;
	return path.substr(0, path.find_last_of('/'));
}

std::string contents(const std::string &path)
{
	std::string s;
	if (FILE *f = fopen(path.c_str(), "rb")) {
		char part[65536];
		for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
			s.append(part, n);
		fclose(f);
	}
	return s;
}

static bool write(const std::string &path, const std::string &s)
{
	FILE *f = fopen(path.c_str(), "wb");
	bool ok = f && fwrite(s.data(), 1, s.size(), f) == s.size();
	return f && fclose(f) == 0 && ok;
}

static bool of_name(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Dynamic shared memory, extern __shared__ T name[];, is an array without a
// length that the launch provides; here it becomes a pointer.
static void point_to_shared(std::string &text)
{
	static const std::string word = "__shared__";
	for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
		size_t start = text.find_last_not_of(" \t\n", at - 1);
		if (at == 0 || start == std::string::npos || start < 5 || text.compare(start - 5, 6, "extern") != 0)
			continue;
		size_t type = at + word.size(), open = text.find('[', type), end = text.find(';', type);
		if (open == std::string::npos || end == std::string::npos || open > end)
			continue;
		size_t name_end = text.find_last_not_of(" \t\n", open - 1) + 1, name = name_end;
		while (of_name(text[name - 1]))
			name--;
		std::string of = text.substr(type, name - type), called = text.substr(name, name_end - name);
		std::string pointer = of + "*const " + called + " = (" + of + "*)(gpuemu::block->shared);";
		text.replace(start - 5, end + 1 - (start - 5), pointer);
		at = start;
	}
}

// first_argument is the text after an open parenthesis, up to its end or a comma.
static std::string first_argument(const std::string &text, size_t open)
{
	int depth = 0;
	size_t at = open + 1;
	for (; at < text.size() && (depth > 0 || (text[at] != ',' && text[at] != ')')); at++)
		depth += (text[at] == '(') - (text[at] == ')');
	return text.substr(open + 1, at - open - 1);
}

// The names of the kernels: the text between "void" and a parenthesis, next
// after "__global__". Each has the most threads of a block that it was compiled for, 0 for none.
static std::map<std::string, std::string> kernels(const std::string &text)
{
	static const std::string word = "__global__";
	std::map<std::string, std::string> names;
	for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
		size_t v = text.find("void", at);
		if (v == std::string::npos)
			break;
		std::string most = "0";
		for (size_t open = text.find('(', v); open != std::string::npos; open = text.find('(', open + 1)) {
			size_t end = text.find_last_not_of(" \t\n", open - 1) + 1, start = end;
			while (of_name(text[start - 1]))
				start--;
			std::string name = text.substr(start, end - start);
			if (name == "__launch_bounds__") {
				most = first_argument(text, open);
				continue;
			}
			names[name] = most;
			break;
		}
	}
	return names;
}

// prepare makes a program for g++ of one that has been through the preprocessor,
// which has left CUDA's words as they are: device.h gives them a meaning, and each
// kernel gets a function that calls it with parameters by address.
static std::string prepare(std::string text)
{
	point_to_shared(text);
	std::string out = "#include \"device.h\"\n" + text + "\n#line 1 \"kernels\"\n";
	for (const auto &[name, most] : kernels(text))
		out += "GPUEMU_KERNEL(" + name + ")\nGPUEMU_EXPORT int gpuemu_most_" + name + "() { return " + most + "; }\n";
	return out;
}

// translate makes g++'s options of the other compilers'. An option that neither
// of them has is refused, as they would. Macros are only for the program.
static bool translate(const std::string &o, std::vector<std::string> &to, std::string &defines)
{
	auto begins = [&](const char *s) { return o.compare(0, strlen(s), s) == 0; };
	if (begins("-D")) {
		size_t is = o.find('=');
		defines += "#define " + o.substr(2, is - 2) + " " + (is == std::string::npos ? "1" : o.substr(is + 1)) + "\n";
	} else if (begins("-I")) {
		to.push_back(o);
	} else if (begins("--std=") || begins("-std=")) {
		to.push_back("-std=" + o.substr(o.find('=') + 1));
	} else if (o == "--fmad=false" || o == "-ffp-contract=off") {
		to.push_back("-ffp-contract=off");
	} else {
		return o == "--fmad=true" || begins("--gpu-architecture=") || begins("--offload-arch=") ||
		       begins("--ptxas-options=") || begins("-O") || o == "--device-debug" || o == "-lineinfo" ||
		       o == "--generate-line-info";
	}
	return true;
}

// execute runs a command without what would make it another program: a
// sanitizer loaded beforehand is ours, not the compiler's.
static int execute(const std::vector<std::string> &command, const std::string &output)
{
	std::vector<char *> argv, env;
	for (const std::string &s : command)
		argv.push_back(const_cast<char *>(s.c_str()));
	argv.push_back(nullptr);
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
			env.push_back(*e);
	env.push_back(nullptr);
	posix_spawn_file_actions_t files;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, output.c_str(), 01101 /* write, create, empty */, 0600);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	pid_t child;
	int failed = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), env.data());
	posix_spawn_file_actions_destroy(&files);
	if (failed)
		return failed;
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return status;
}

// build runs the preprocessor and the compiler in a folder of their own.
static int build(Program *p, const std::string &folder, const std::vector<std::string> &options,
                 const std::string &defines, std::string &binary)
{
	std::string source = folder + "/source.cpp", program = folder + "/program.cpp";
	std::string object = folder + "/program.so", log = folder + "/log";
	if (!write(source, "#define GPUEMU 1\n" + defines + "#line 1 \"" + p->name + "\"\n" + p->text))
		return CompilerBroken;
	int status = execute({"g++", "-E", "-undef", "-w", "-o", program, source}, log);
	if (status == 0 && !write(program, prepare(contents(program))))
		return CompilerBroken;
	if (status == 0) {
		std::vector<std::string> command = {"g++", "-std=c++17", "-O1", "-march=native", "-ffp-contract=off",
			"-shared", "-fPIC", "-fvisibility=hidden", "-w", "-I" + here(), "-include", "new"};
#ifdef __x86_64__
		command.push_back("-mtls-dialect=gnu2"); // without it every thread-local variable is a call
#endif
		if (sanitize())
			command.insert(command.end(), {"-fsanitize=address", "-g1", "-fno-var-tracking", // compiles in a quarter of the time
				"--param", "asan-instrumentation-with-call-threshold=0"});
		command.insert(command.end(), options.begin(), options.end());
		command.insert(command.end(), {"-o", object, program});
		status = execute(command, log);
	}
	p->log = contents(log);
	if (status != 0 && p->log.empty())
		p->log = "g++ cannot be run: " + std::string(strerror(status));
	binary = contents(object);
	for (const std::string &f : {source, program, object, log})
		unlink(f.c_str());
	return status ? int(CompilerFailed) : int(Success);
}

// lacks_builtins says whether the compiler's other library cannot be opened just by its name, as
// the real ones open it. A loader finds the library if it knows its folder, or has it already.
static bool lacks_builtins(Program *p, const char *name)
{
	if (dlopen(name, RTLD_NOW | RTLD_LOCAL))
		return false;
	p->log = std::string("nvrtc: error: failed to open ") + name + ".\n  Make sure that " + name + " is installed correctly.";
	return true;
}

static int compile(Program *p, int options, const char *const *option)
{
	std::vector<std::string> translated;
	std::string defines, so;
	for (int i = 0; i < options; i++)
		if (!translate(option[i], translated, defines)) {
			p->log = std::string("unrecognized option ") + option[i];
			return CompilerInvalidOption;
		}
	const char *temporary = getenv("TMPDIR");
	std::string folder = std::string(temporary ? temporary : P_tmpdir) + "/gpuemu-XXXXXX";
	if (!mkdtemp(folder.data()))
		return CompilerBroken;
	int status = build(p, folder, translated, defines, so);
	rmdir(folder.c_str());
	if (status != Success)
		return status;
	// The driver gets no length, so the length comes first.
	uint64_t bytes = so.size();
	p->image = "GPUEMU 1" + std::string(reinterpret_cast<char *>(&bytes), sizeof bytes) + so;
	return Success;
}

// real is a function of the real NVRTC, which GPUEMU_NVRTC names; nullptr without it.
static void *real(const char *function)
{
	const char *name = getenv("GPUEMU_NVRTC");
	void *library = name && *name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
	if (name && *name && !library)
		fprintf(stderr, "gpuemu: %s\n", dlerror());
	return library ? dlsym(library, function) : nullptr;
}

template <class... A> static int call_real(const char *function, A... a)
{
	auto f = reinterpret_cast<int (*)(A...)>(real(function));
	return f ? f(a...) : int(CompilerBroken);
}

// compile_really has the real NVRTC make PTX, which says what lines of the source it is of.
static int compile_really(Program *p, int options, const char *const *option)
{
	// Its builtins are in its folder, and it may not know that folder.
	int major = 0, minor = 0;
	const std::string file = getenv("GPUEMU_NVRTC");
	if (size_t end = file.rfind('/'); end != std::string::npos && call_real("nvrtcVersion", &major, &minor) == Success)
		dlopen((file.substr(0, end) + "/libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor)).c_str(), RTLD_NOW | RTLD_GLOBAL);
	std::vector<std::string> all = {"--generate-line-info"};
	for (int i = 0; i < options; i++) {
		std::string o = option[i];
		if (size_t at = o.find("=sm_"); at != std::string::npos)
			o.replace(at, 4, "=compute_");
		if (o.compare(0, 16, "--ptxas-options=") != 0)
			all.push_back(o);
	}
	std::vector<const char *> list;
	for (const std::string &o : all)
		list.push_back(o.c_str());
	void *program = nullptr;
	const char *const *none = nullptr;
	int status = call_real("nvrtcCreateProgram", &program, p->text.c_str(), p->name.c_str(), 0, none, none);
	if (status != Success)
		return status;
	status = call_real("nvrtcCompileProgram", program, int(list.size()), list.data());
	auto fetch = [&](const char *size, const char *text) {
		size_t n = 0;
		call_real(size, program, &n);
		std::string s(n, 0);
		call_real(text, program, s.data());
		return s.substr(0, s.find('\0'));
	};
	p->log = fetch("nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
	if (status == Success)
		p->image = fetch("nvrtcGetPTXSize", "nvrtcGetPTX");
	call_real("nvrtcDestroyProgram", &program);
	return status;
}

static int own_version(int *major, int *minor)
{
	// In a cache, no binary of ours passes for one of theirs, nor one with the
	// sanitizer for one without.
	*major = 0, *minor = sanitize() ? 2 : 1;
	return Success;
}

EXPORT int nvrtcVersion(int *major, int *minor)
{
	return real("nvrtcVersion") ? call_real("nvrtcVersion", major, minor) : own_version(major, minor);
}

EXPORT int nvrtcCreateProgram(Program **p, const char *text, const char *name, int headers,
                              const char *const *, const char *const *)
{
	if (headers)
		return CompilerInvalidProgram;
	*p = new Program{text, name ? name : "program", "", ""};
	return Success;
}

EXPORT int nvrtcDestroyProgram(Program **p)
{
	delete *p;
	*p = nullptr;
	return Success;
}

EXPORT int nvrtcCompileProgram(Program *p, int options, const char *const *option)
{
	if (int s = fault("nvrtcCompileProgram"))
		return s;
	if (real("nvrtcVersion"))
		return compile_really(p, options, option);
	if (lacks_builtins(p, sanitize() ? "libnvrtc-builtins.so.0.2" : "libnvrtc-builtins.so.0.1"))
		return BuiltinsFailed;
	return compile(p, options, option);
}

EXPORT int nvrtcGetCUBINSize(Program *p, size_t *bytes)
{
	*bytes = p->image.size();
	return Success;
}

EXPORT int nvrtcGetCUBIN(Program *p, char *to)
{
	memcpy(to, p->image.data(), p->image.size());
	return Success;
}

EXPORT int nvrtcGetPTXSize(Program *p, size_t *bytes) { return nvrtcGetCUBINSize(p, bytes); }
EXPORT int nvrtcGetPTX(Program *p, char *to) { return nvrtcGetCUBIN(p, to); }

EXPORT int nvrtcGetProgramLogSize(Program *p, size_t *bytes)
{
	*bytes = p->log.size() + 1;
	return Success;
}

EXPORT int nvrtcGetProgramLog(Program *p, char *to)
{
	memcpy(to, p->log.c_str(), p->log.size() + 1);
	return Success;
}

EXPORT int nvrtcGetNumSupportedArchs(int *n)
{
	*n = 2;
	return Success;
}

EXPORT int nvrtcGetSupportedArchs(int *archs)
{
	archs[0] = 80, archs[1] = 90;
	return Success;
}

EXPORT const char *nvrtcGetErrorString(int status)
{
	switch (status) {
	case CompilerInvalidOption:
		return "NVRTC_ERROR_INVALID_OPTION";
	case CompilerFailed:
		return "NVRTC_ERROR_COMPILATION";
	case BuiltinsFailed:
		return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
	}
	return "NVRTC_ERROR_INTERNAL_ERROR";
}

// hiprtc is the same under other names.
EXPORT int hiprtcVersion(int *major, int *minor) { return own_version(major, minor); }
EXPORT int hiprtcCreateProgram(Program **p, const char *text, const char *name, int n,
                               const char *const *t, const char *const *h)
{
	return nvrtcCreateProgram(p, text, name, n, t, h);
}
EXPORT int hiprtcDestroyProgram(Program **p) { return nvrtcDestroyProgram(p); }
EXPORT int hiprtcCompileProgram(Program *p, int options, const char *const *option)
{
	for (int i = 0; i < options; i++)
		if (strncmp(option[i], "--offload-arch=", 15) == 0 && strncmp(option[i] + 15, "gfx90a", 6) != 0)
			abort(); // as hiprtc does with a target that it does not know
	if (int s = fault("nvrtcCompileProgram"))
		return s;
	if (lacks_builtins(p, "libhiprtc-builtins.so.5"))
		return BuiltinsFailed;
	return compile(p, options, option);
}
EXPORT int hiprtcGetCodeSize(Program *p, size_t *bytes) { return nvrtcGetCUBINSize(p, bytes); }
EXPORT int hiprtcGetCode(Program *p, char *to) { return nvrtcGetCUBIN(p, to); }
EXPORT int hiprtcGetProgramLogSize(Program *p, size_t *bytes) { return nvrtcGetProgramLogSize(p, bytes); }
EXPORT int hiprtcGetProgramLog(Program *p, char *to) { return nvrtcGetProgramLog(p, to); }
EXPORT const char *hiprtcGetErrorString(int status) { return nvrtcGetErrorString(status); }

} // namespace gpuemu
