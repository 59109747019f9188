//go:build ignore

// From the text of PTX to statements that can be run.
#include "ptx.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

namespace gpuemu::ptx {

struct Token {
	std::string text;
	size_t at; // in the PTX
	int line;
	int file, source_line;
};

// Lexer cuts PTX into words and signs, and follows its references to lines of the source.
struct Lexer {
	std::vector<Token> tokens;
	std::map<int, std::string> files;

	explicit Lexer(const std::string &text)
	{
		int line = 0, file = 0, source_line = 0;
		bool section = false; // of debugging information
		for (size_t start = 0; start < text.size();) {
			size_t end = std::min(text.find('\n', start), text.size());
			std::string s = text.substr(start, end - start);
			line++;
			size_t first = s.find_first_not_of(" \t"), comment = s.find("//");
			auto begins = [&](const char *word) { return first != std::string::npos && s.compare(first, strlen(word), word) == 0; };
			if (section)
				section = !begins("}");
			else if (begins(".section"))
				section = true;
			else if (begins(".loc\t") || begins(".loc "))
				sscanf(s.c_str() + first, ".loc %d %d", &file, &source_line);
			else if (begins(".file"))
				name(s.substr(first));
			else if (!begins(".version") && !begins(".target") && !begins(".address_size"))
				cut(s.substr(0, std::min(comment, s.size())), {"", start, line, file, source_line});
			start = end + 1;
		}
	}

private:
	void name(const std::string &line) // .file 1 "folder/name"
	{
		size_t quote = line.find('"'), slash = line.rfind('/'), end = line.rfind('"');
		size_t from = slash == std::string::npos ? quote + 1 : slash + 1;
		files[atoi(line.c_str() + 5)] = line.substr(from, end - from);
	}

	void cut(const std::string &s, Token like)
	{
		auto of_word = [&](size_t k) {
			return isalnum(static_cast<unsigned char>(s[k])) || strchr("_$%.", s[k]) || s.compare(k, 2, "::") == 0 || (k > 0 && s.compare(k - 1, 2, "::") == 0);
		};
		size_t line = like.at;
		for (size_t k = 0; k < s.size(); k++) {
			if (isspace(static_cast<unsigned char>(s[k])))
				continue;
			size_t n = 1;
			if (s[k] == '"')
				n = s.find('"', k + 1) + 1 - k;
			else if (of_word(k))
				while (k + n < s.size() && of_word(k + n))
					n++;
			like.text = s.substr(k, n), like.at = line + k;
			tokens.push_back(like);
			k += n - 1;
		}
	}
};

// Argument is an operand as it is written: a word, {list}, or [word + offset].
struct Argument {
	std::string word;
	bool negative = false, inverse = false;
	int64_t offset = 0;
	std::vector<Argument> list; // also of a|b and of (a, b)
};

static const std::map<std::string, int> type_bytes = {
	{".pred", 4}, {".b8", 1}, {".u8", 1}, {".s8", 1}, {".b16", 2}, {".u16", 2}, {".s16", 2}, {".b32", 4},
	{".u32", 4}, {".s32", 4}, {".f32", 4}, {".b64", 8}, {".u64", 8}, {".s64", 8}, {".f64", 8},
};

// A placeholder for the address of dynamic shared memory until that is known.
constexpr uint64_t dynamic_address = 0xD1A1C5EDD1A1C5ED;

// Reader makes a module.
struct Reader {
	const std::string text;
	Lexer lexer;
	const std::vector<Token> &tokens = lexer.tokens;
	size_t at = 0; // the next token
	const int card;
	std::unique_ptr<Module> module = std::make_unique<Module>();
	std::map<std::string, Symbol> globals; // and shared variables of the module
	std::map<std::string, int> called;     // functions by name
	size_t shared = 0, called_registers = 0; // what those take

	// The current function.
	Function f;
	std::map<std::string, Symbol> symbols;
	std::map<std::string, std::pair<Register, bool>> registers; // and whether they are wide
	std::map<std::pair<uint64_t, bool>, Register> constants;
	std::map<std::string, int> labels;
	std::vector<std::pair<int, std::string>> jumps; // statements and their labels
	size_t dynamic = 0; // alignment of shared memory that a launch adds, 0 for none

	Reader(const char *ptx, int card) : text(ptx), lexer(text), card(card) {}

	[[noreturn]] void refuse(const std::string &why)
	{
		const Token &t = tokens[std::min(at, tokens.size() - 1)];
		size_t start = text.rfind('\n', t.at) + 1;
		throw Fault{InvalidPTX, "line " + std::to_string(t.line) + " of PTX: " + why + ": " + text.substr(start, text.find('\n', t.at) - start)};
	}
	const std::string &next()
	{
		if (at >= tokens.size())
			refuse("it ends early");
		return tokens[at++].text;
	}
	bool is(const char *s) const { return at < tokens.size() && tokens[at].text == s; }
	bool take(const char *s)
	{
		bool yes = is(s);
		at += yes;
		return yes;
	}
	void need(const char *s)
	{
		if (!take(s))
			refuse(std::string("no ") + s);
	}

	int64_t number()
	{
		bool negative = take("-");
		std::string s = next();
		char *end;
		uint64_t v = strtoull(s.c_str(), &end, 0);
		if (*end == 'U')
			end++;
		if (*end || end == s.c_str())
			at--, refuse("no number");
		return negative ? -int64_t(v) : int64_t(v);
	}

	// variable reads a declaration from its type on: .align 4 .b8 name[12].
	std::pair<std::string, Symbol> variable(Space space)
	{
		Symbol v;
		size_t element = 0, aligned = 0;
		v.space = space;
		while (tokens[at].text[0] == '.') {
			std::string s = next();
			if (auto t = type_bytes.find(s); t != type_bytes.end())
				element = t->second;
			else if (s == ".align")
				aligned = size_t(number());
			else if (s == ".ptr")
				while (tokens[at].text[0] == '.')
					if (next() == ".align")
						number();
		}
		std::string name = next();
		v.bytes = element;
		if (take("[")) {
			v.bytes = is("]") ? 0 : element * size_t(number());
			need("]");
		}
		v.align = std::max<size_t>({aligned, element, 1});
		return {name, v};
	}

	// place gives a variable the next aligned address after the used bytes.
	static void place(Symbol &v, size_t &used)
	{
		v.address = (used + v.align - 1) / v.align * v.align;
		used = v.address + v.bytes;
	}

	// A variable of the module in global memory, with its values.
	void global(Symbol &v)
	{
		size_t element = 1; // of a list of bytes
		std::vector<char> bytes(v.bytes, 0);
		if (take("=")) {
			bool list = take("{");
			if (!list)
				element = v.bytes;
			for (size_t k = 0; !is(";") && !is("}"); k += element) {
				int64_t value = number();
				if (k + element > v.bytes)
					refuse("too many values");
				memcpy(bytes.data() + k, &value, element);
				take(",");
			}
			if (list)
				need("}");
		}
		if (int status = memory_alloc(&v.address, std::max<size_t>(v.bytes, 1), card))
			throw Fault{status, "no memory for a variable of the program"};
		memcpy(reinterpret_cast<void *>(v.address), bytes.data(), v.bytes);
	}

	void read();
	void function(bool entry);
	void body();
	void statement();
	void declare(const std::string &space);
	Argument argument();
	Register source(const Argument &a, bool wide);
	Register constant(uint64_t value, bool wide);
	Register destination(const Argument &a, bool wide);
	std::pair<Register, bool> of(const std::string &name);
	Register special(const std::string &name);
	void emit(Ins i, const std::vector<std::string> &name, std::vector<Argument> &a);
	bool arithmetical(Ins &i, const std::string &name, const std::vector<Argument> &a);
	void memory(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a);
	void calls(Ins i, const std::vector<Argument> &a);
	void copies(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a);
	void barriers(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a);
	void others(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a);
	void address(Ins &i, int k, int offset, const Argument &a);
	void add(Ins &i, Register r, bool wide);
	void result(Ins &i, const Argument &a);
	void operand(Ins &i, const Argument &a, bool wide);
	void lower(Ins &i, const Argument &a);
	void find_unset();
	void push(const Ins &i);
	Ins simple(const char *what);
};

// read goes through the module. Functions that others call come first, so that kernels
// know how many registers these need.
void Reader::read()
{
	std::vector<std::pair<size_t, bool>> bodies; // where functions begin, and whether they are kernels
	while (at < tokens.size()) {
		std::string s = next();
		if (s == ".visible" || s == ".weak" || s == ".extern" || s == ".common")
			continue;
		if (s == ".entry" || s == ".func") {
			size_t start = at;
			while (!is("{") && !is(";"))
				next();
			if (take(";"))
				continue; // declared, to be defined later
			bodies.push_back({start, s == ".entry"});
			for (int depth = 0; depth += is("{") - is("}"), at++, depth > 0;)
				if (at >= tokens.size())
					refuse("it ends early");
		} else if (s == ".global" || s == ".const" || s == ".shared") {
			auto [name, v] = variable(s == ".shared" ? Space::Shared : Space::Global);
			if (s != ".shared")
				global(v);
			else if (v.bytes)
				place(v, shared);
			globals[name] = v;
			need(";");
		} else {
			at--;
			refuse("what is this");
		}
	}
	for (bool entry : {false, true})
		for (auto [start, kernel] : bodies)
			if (kernel == entry) {
				at = start;
				function(entry);
			}
}

void Reader::function(bool entry)
{
	f = Function{};
	f.shared = shared;
	f.registers = called_registers;
	if (entry)
		for (size_t k = 0; k < module->called; k++) {
			const Function &g = module->functions[k];
			f.constants.insert(f.constants.end(), g.constants.begin(), g.constants.end());
			f.places.insert(f.places.end(), g.places.begin(), g.places.end());
			f.unset.insert(f.unset.end(), g.unset.begin(), g.unset.end());
		}
	symbols = globals;
	registers.clear(), constants.clear(), labels.clear(), jumps.clear();
	dynamic = 0;
	constant(0, true); // so that no register that is used is number 0
	auto list = [&](std::vector<Symbol> &to) {
		while (!take(")")) {
			need(".param");
			auto [name, v] = variable(entry ? Space::Param : Space::Local);
			place(v, entry ? f.parameter_bytes : module->local);
			symbols[name] = v;
			to.push_back(v);
			take(",");
		}
	};
	if (take("("))
		list(f.results);
	f.name = next();
	if (take("("))
		list(f.parameters);
	while (!take("{"))
		if (next() == ".maxntid") { // others say nothing that is needed
			f.most_threads = std::stoi(next());
			while (take(","))
				f.most_threads *= std::stoi(next());
		}
	int own = int(module->functions.size());
	f.begin = int(module->code.size());
	if (!entry)
		called[f.name] = own, module->called = own + 1;
	body();
	f.end = int(module->code.size());
	for (auto &[statement, label] : jumps) {
		if (!labels.count(label))
			refuse("no label " + label + " in " + f.name);
		module->code[statement].target = labels[label];
	}
	for (int k = f.begin; k < f.end && !entry; k++)
		if (module->code[k].target == -2)
			module->code[k].target = own;
	find_unset();
	if (dynamic)
		f.shared = (f.shared + dynamic - 1) / dynamic * dynamic;
	for (Filled &c : f.constants)
		if (c.value == dynamic_address || c.value == uint32_t(dynamic_address))
			c.value = f.shared;
	if (entry)
		module->kernels[f.name] = own;
	else
		called_registers = f.registers, shared = f.shared;
	module->functions.push_back(f);
}

void Reader::body()
{
	for (int depth = 1; depth > 0;) {
		if (take("{"))
			depth++;
		else if (take("}"))
			depth--;
		else if (take(";"))
			continue;
		else if (at + 1 < tokens.size() && tokens[at + 1].text == ":")
			labels[next()] = int(module->code.size()), next();
		else if (tokens[at].text[0] == '.')
			declare(next());
		else
			statement();
	}
	push(simple(called.count(f.name) ? "return" : "leave"));
}

void Reader::declare(const std::string &kind)
{
	if (kind == ".pragma") {
		next(), need(";");
		return;
	}
	if (kind == ".reg") {
		std::string type = next();
		if (!type_bytes.count(type))
			refuse("no type " + type);
		bool wide = type_bytes.at(type) == 8;
		do {
			std::string name = next();
			int many = -1;
			if (take("<"))
				many = int(number()), need(">");
			for (int k = 0; k < std::max(many, 1); k++) {
				std::string full = many < 0 ? name : name + std::to_string(k);
				auto known = registers.find(full);
				if (known != registers.end() && known->second.second == wide)
					continue;
				registers[full] = {Register(f.registers), wide};
				f.registers += lanes * (wide ? 8 : 4);
			}
		} while (take(","));
	} else if (kind == ".shared" || kind == ".local" || kind == ".param") {
		auto [name, v] = variable(kind == ".shared" ? Space::Shared : Space::Local);
		place(v, kind == ".shared" ? f.shared : module->local);
		if (kind == ".shared") {
			f.own_shared += v.bytes;
			f.gaps.push_back((f.shared + 3) / 4 * 4);
			f.shared = f.gaps.back() + gap_bytes;
		}
		symbols[name] = v;
	} else {
		refuse("no declaration " + kind);
	}
	need(";");
}

Argument Reader::argument()
{
	Argument a;
	if (is("{") || is("(")) {
		const char *end = next() == "{" ? "}" : ")";
		while (!take(end)) {
			a.list.push_back(argument());
			take(",");
		}
	} else if (take("[")) {
		a.word = next();
		while (take("+"))
			a.offset += number();
		if (is("-"))
			a.offset += number();
		need("]");
	} else {
		a.negative = take("-");
		a.inverse = take("!");
		a.word = next();
		if (take("|")) {
			Argument first = a;
			a = Argument{};
			a.list = {first, argument()};
		}
	}
	return a;
}

// statement reads one statement and makes it of its name, cut at points.
void Reader::statement()
{
	const Token &first = tokens[at];
	Ins i;
	if (take("@")) {
		i.unless = take("!");
		i.guard = int(of(next()).first);
	}
	std::string full = next();
	std::vector<std::string> name;
	for (size_t k = 0; k <= full.size();) {
		size_t end = std::min(full.find('.', k), full.size());
		name.push_back(full.substr(k, end - k));
		k = end + 1;
	}
	std::vector<Argument> a;
	while (!is(";")) {
		a.push_back(argument());
		take(",");
	}
	i.statement = int(module->statements.size());
	Statement s;
	s.text = text.substr(first.at, tokens[at].at - first.at);
	std::replace(s.text.begin(), s.text.end(), '\t', ' ');
	s.line = first.line, s.source_line = first.source_line;
	if (auto file = lexer.files.find(first.file); file != lexer.files.end())
		s.file = file->second;
	module->statements.push_back(s);
	emit(i, name, a);
	need(";");
}

Register Reader::constant(uint64_t value, bool wide)
{
	if (!wide)
		value = uint32_t(value);
	auto [it, fresh] = constants.insert({{value, wide}, Register(f.registers)});
	if (fresh) {
		f.constants.push_back({it->second, wide, value});
		f.registers += lanes * (wide ? 8 : 4);
	}
	return it->second;
}

// special is a register that tells where a thread is.
Register Reader::special(const std::string &name)
{
	static const std::map<std::string, Special> kinds = {{"%tid", Special::Tid}, {"%ntid", Special::Ntid}, {"%ctaid", Special::Ctaid},
		{"%nctaid", Special::Nctaid}, {"%laneid", Special::Lane}, {"%lanemask_lt", Special::LanesBelow}};
	auto kind = kinds.find(name.substr(0, name.find('.')));
	if (kind == kinds.end())
		refuse("no register " + name);
	Register r = Register(f.registers);
	f.registers += lanes * 4;
	registers[name] = {r, false};
	f.places.push_back({r, kind->second, name.find('.') == std::string::npos ? 0 : name.back() - 'x'});
	return r;
}

std::pair<Register, bool> Reader::of(const std::string &name)
{
	auto it = registers.find(name);
	if (it == registers.end())
		return {special(name), false};
	return it->second;
}

// source is the register of an operand: a register, a number or where a variable lies.
Register Reader::source(const Argument &a, bool wide)
{
	const std::string &s = a.word;
	if (s.empty())
		refuse("no single operand");
	if (s[0] == '%' || registers.count(s)) {
		auto [r, is_wide] = of(s);
		if (is_wide != wide)
			refuse(s + " has another width");
		return r;
	}
	if (s[0] == '0' && s.size() > 2 && strchr("fFdD", s[1]))
		return constant(strtoull(s.c_str() + 2, nullptr, 16), wide);
	if (isdigit(static_cast<unsigned char>(s[0]))) {
		uint64_t v = strtoull(s.c_str(), nullptr, 0);
		return constant(a.negative ? -v : v, wide);
	}
	auto v = symbols.find(s);
	if (v == symbols.end())
		refuse("nothing is called " + s);
	if (v->second.space == Space::Shared && v->second.bytes == 0) { // known once all variables are
		dynamic = v->second.align;
		return constant(dynamic_address, wide);
	}
	return constant(v->second.address, wide);
}

void Reader::add(Ins &i, Register r, bool wide)
{
	if (i.count == std::size(i.reg))
		refuse("too many operands");
	i.wide |= uint8_t(wide << i.count);
	i.reg[i.count++] = r;
}

void Reader::result(Ins &i, const Argument &a)
{
	auto [r, wide] = a.word == "_" ? std::pair{constant(0xDEAD, true), true} : of(a.word); // a sink that nothing reads
	add(i, r, wide);
	i.results = i.count;
}

void Reader::operand(Ins &i, const Argument &a, bool wide) { add(i, source(a, wide), wide); }

// lower adds the lower half of a wide register: all that a conversion from a narrower type reads.
void Reader::lower(Ins &i, const Argument &a)
{
	Ins half;
	half.guard = i.guard, half.unless = i.unless, half.statement = i.statement;
	half.run = arithmetic("cvt.u32.u64")->run;
	add(half, Register(f.registers), false);
	add(half, source(a, true), true);
	f.registers += lanes * 4;
	push(half);
	add(i, half.reg[0], false);
}

// address adds the register of [register + offset].
void Reader::address(Ins &i, int k, int offset, const Argument &a)
{
	auto it = registers.find(a.word);
	if (it != registers.end())
		add(i, it->second.first, it->second.second);
	else
		add(i, source(a, true), true);
	if (i.count != k + 1)
		refuse("operands in another order");
	i.offset[offset] = a.offset;
	if (auto v = symbols.find(a.word); v != symbols.end() && v->second.space == Space::Local)
		i.space = Space::Local; // parameters of functions, too
}

void Reader::push(const Ins &i) { module->code.push_back(i); }

Ins Reader::simple(const char *what)
{
	Ins i;
	i.statement = int(module->statements.size()) - 1;
	control(i, {what});
	i.target = -2; // the function itself
	return i;
}

bool Reader::arithmetical(Ins &i, const std::string &name, const std::vector<Argument> &a)
{
	if (a.size() > 1 && name[0] == 'm' && (!a[0].list.empty() || !a[1].list.empty()))
		return false; // mov of several registers
	const Op *op = arithmetic(name);
	if (!op || a.size() != op->bytes.size())
		return false;
	for (size_t k = 0; k < a.size(); k++) {
		bool wide = op->bytes[k] == 8;
		if (k == 0)
			result(i, a[0]);
		else if (auto r = registers.find(a[k].word); r != registers.end() && r->second.second && !wide && name.starts_with("cvt."))
			lower(i, a[k]);
		else
			operand(i, a[k], wide);
		if ((i.wide >> k & 1) != wide && a[k].word != "_")
			refuse("the result has another width");
		if (a[k].inverse)
			refuse("an operand is inverted");
	}
	i.run = op->run;
	return true;
}

void Reader::memory(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a)
{
	auto values = [](const Argument &a) { return a.list.empty() ? std::vector<Argument>{a} : a.list; };
	bool wide = type_bytes.count("." + name.back()) && type_bytes.at("." + name.back()) == 8;
	Space declared = i.space;
	if (name[0] == "ld" || name[0] == "ldu") {
		for (const Argument &v : values(a.at(0)))
			result(i, v);
		address(i, i.count, 0, a.at(1));
	} else if (name[0] == "st") {
		address(i, 0, 0, a.at(0));
		for (const Argument &v : values(a.at(1))) {
			bool known = registers.count(v.word);
			operand(i, v, known ? registers[v.word].second : wide);
		}
	} else { // atom and red
		if (name[0] == "atom")
			result(i, a.at(0));
		size_t k = name[0] == "atom";
		address(i, int(k), 0, a.at(k));
		while (++k < a.size())
			operand(i, a[k], wide);
	}
	bool local = i.space == Space::Local && declared != Space::Local;
	if (!access(i, name))
		i.run = nullptr;
	if (local)
		i.space = Space::Local;
	if ((name[0] == "st" || name[0][0] == 'l') && i.run && i.count != i.elements + 1)
		refuse("another number of values");
}

// calls: (result), function, (parameters). Variables are copied to the function's and back.
void Reader::calls(Ins i, const std::vector<Argument> &a)
{
	bool results = a.size() > 1 && !a[0].list.empty();
	const Argument &name = a.at(results);
	auto g = called.find(name.word);
	if (g == called.end() || size_t(g->second) >= module->functions.size() || i.guard != no_guard)
		refuse("no function " + name.word + " to call");
	const Function &to = module->functions[g->second];
	auto copy = [&](const Symbol &to, const Symbol &from) {
		Ins c = i;
		control(c, {"copy"});
		c.offset[0] = int64_t(to.address), c.offset[1] = int64_t(from.address), c.target = int(to.bytes);
		push(c);
	};
	for (size_t k = 0; k < to.parameters.size(); k++)
		copy(to.parameters[k], symbols.at(a.at(results + 1).list.at(k).word));
	control(i, {"call"});
	i.target = g->second;
	push(i);
	if (results)
		copy(symbols.at(a[0].list[0].word), to.results.at(0));
}

// cp.async.
void Reader::copies(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a)
{
	const std::string what = name.size() > 2 ? name[2] : "";
	if (name.size() < 3 || name[1] != "async")
		return;
	if (what == "commit_group")
		i.run = commit_copies;
	else if (what == "wait_all")
		i.run = wait_copies, i.target = -1;
	else if (what == "wait_group")
		i.run = wait_copies, i.target = atoi(a.at(0).word.c_str());
	if (i.run || (what != "ca" && what != "cg") || a.size() < 3 || a.size() > 4)
		return;
	i.elements = uint8_t(atoi(a[2].word.c_str()));
	if ((i.elements != 16 && what == "cg") || (i.elements != 4 && i.elements != 8 && i.elements != 16))
		refuse("no copy of so many bytes");
	address(i, 0, 0, a[0]);
	address(i, 1, 1, a[1]);
	operand(i, a.size() == 4 ? a[3] : a[2], false);
	i.run = copy_async;
}

// bar and barrier: offset 0 is its number, offset 1 how many threads; elements says what
// becomes of predicates: 0 nothing, 1 their number, 2 whether all are true, 3 whether any is.
void Reader::barriers(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a)
{
	std::vector<std::string> n = name;
	n.erase(std::remove(n.begin(), n.end(), "cta"), n.end());
	n.erase(std::remove(n.begin(), n.end(), "aligned"), n.end());
	i.elements = 0;
	size_t k = 0;
	if (n.size() == 3 && n[1] == "warp" && n[2] == "sync" && a.size() == 1) {
		operand(i, a[0], false);
		control(i, {"meet"});
		return;
	}
	if (n.size() == 4 && n[1] == "red" && a.size() >= 3) {
		i.elements = n[2] == "popc" ? 1 : n[2] == "and" ? 2 : 3;
		result(i, a[k++]);
		Argument p = a.back();
		i.unless = p.inverse;
		operand(i, p, false);
	} else if (n.size() != 2 || n[1] != "sync") {
		return;
	}
	if (i.guard != no_guard)
		refuse("a barrier for some threads");
	i.offset[0] = atoi(a.at(k).word.c_str());
	if (a.size() > k + 1 + (i.elements > 0))
		i.offset[1] = atoi(a[k + 1].word.c_str());
	control(i, {"bar"});
}

// Moves of several registers, addresses, votes, shuffles and fences.
void Reader::others(Ins &i, const std::vector<std::string> &name, const std::vector<Argument> &a)
{
	if (name[0] == "mov" && a.size() == 2 && name.size() == 2) {
		bool packs = !a[1].list.empty();
		const std::vector<Argument> &parts = packs ? a[1].list : a[0].list;
		int bytes = type_bytes.count("." + name[1]) ? type_bytes.at("." + name[1]) : 0;
		i.elements = uint8_t(parts.size());
		i.offset[0] = 8 * bytes / std::max<int>(1, i.elements);
		if (packs) {
			result(i, a[0]);
			for (const Argument &p : parts)
				operand(i, p, i.offset[0] == 64);
		} else {
			for (const Argument &p : parts)
				result(i, p);
			operand(i, a[1], bytes == 8);
		}
		control(i, {packs ? "pack" : "unpack"});
	} else if (name[0] == "cvta") {
		bool to = name[1] == "to";
		const std::string &space = name[to ? 2 : 1];
		int64_t window = int64_t(space == "shared" ? shared_window : space == "local" ? local_window : 0);
		i.offset[0] = to ? -window : window;
		result(i, a.at(0));
		operand(i, a.at(1), true);
		control(i, {"cvta"});
	} else if (name[0] == "vote" || name[0] == "redux") {
		result(i, a.at(0));
		operand(i, a.at(1), false);
		operand(i, a.at(2), false);
		i.unless = a[1].inverse;
		if (i.guard != no_guard || !control(i, name))
			i.run = nullptr;
	} else if (name[0] == "shfl") {
		std::vector<Argument> to = a.at(0).list.empty() ? std::vector<Argument>{a[0], {}} : a[0].list;
		result(i, to[0]);
		if (to[1].word.empty())
			add(i, constant(0xBEEF, false), false), i.results = i.count;
		else
			result(i, to[1]);
		for (size_t k = 1; k < a.size(); k++)
			operand(i, a[k], false);
		if (i.guard != no_guard || i.count != 6 || !control(i, name))
			i.run = nullptr;
	} else if (name[0] == "activemask") {
		result(i, a.at(0));
		control(i, name);
	} else if (a.empty()) {
		control(i, name); // membar, fence, exit, trap
	}
}

void Reader::emit(Ins i, const std::vector<std::string> &name, std::vector<Argument> &a)
{
	std::string full = name[0];
	for (size_t k = 1; k < name.size(); k++)
		full += "." + name[k];
	const std::string &first = name[0];
	if (first == "call")
		return calls(i, a);
	if (first == "bra") {
		control(i, {"bra"});
		jumps.push_back({int(module->code.size()), a.at(0).word});
	} else if (first == "ret") {
		i.target = -2;
		control(i, {called.count(f.name) ? "return" : "leave"});
	} else if (first == "ld" || first == "ldu" || first == "st" || first == "atom" || first == "red") {
		memory(i, name, a);
	} else if (first == "cp") {
		copies(i, name, a);
	} else if (first == "bar" || first == "barrier") {
		barriers(i, name, a);
	} else if (!arithmetical(i, full, a)) {
		others(i, name, a);
	}
	if (!i.run)
		refuse("the executor has no instruction " + full);
	push(i);
}

// find_unset finds the registers that some way through the function reads before it
// writes them: those alive at its beginning.
void Reader::find_unset()
{
	constexpr size_t each = lanes * 4;
	typedef std::vector<bool> Set; // by register / each
	Set given(f.registers / each + 1);
	for (const Filled &c : f.constants)
		given[c.reg / each] = true;
	for (const Place &p : f.places)
		given[p.reg / each] = true;
	std::map<int, Set> alive; // before the statements that others jump to
	std::set<int> jumping;
	for (auto &[statement, label] : jumps) {
		jumping.insert(statement);
		alive[module->code[statement].target] = Set(given.size());
	}
	Set now;
	auto join = [&](const Set &s) {
		for (size_t k = 0; k < s.size(); k++)
			now[k] = now[k] || s[k];
	};
	for (bool changed = true; changed;) {
		changed = false;
		now.assign(given.size(), false);
		for (int k = f.end - 1; k >= f.begin; k--) {
			const Ins &i = module->code[k];
			if (jumping.count(k)) {
				if (i.guard == no_guard)
					now.assign(given.size(), false);
				join(alive[i.target]);
			}
			for (int r = 0; r < i.results && i.guard == no_guard; r++)
				now[i.reg[r] / each] = false;
			for (int r = i.results; r < i.count; r++)
				now[i.reg[r] / each] = true;
			if (i.guard != no_guard)
				now[size_t(i.guard) / each] = true;
			if (auto a = alive.find(k); a != alive.end() && a->second != now)
				a->second = now, changed = true;
		}
	}
	for (auto &[name, r] : registers)
		if (now[r.first / each] && !given[r.first / each])
			f.unset.push_back({r.first, r.second, ~uint64_t(0)});
}

std::string Module::where(const Ins &i) const
{
	const Statement &s = statements[i.statement];
	std::string of = s.file.empty() ? "" : s.file + ":" + std::to_string(s.source_line) + ", ";
	return of + "line " + std::to_string(s.line) + " of PTX: " + s.text;
}

std::unique_ptr<Module> read(const char *text, int card)
{
	Reader r(text, card);
	try {
		r.read();
	} catch (const std::out_of_range &) {
		r.refuse("an operand is missing");
	}
	return std::move(r.module);
}

} // namespace gpuemu::ptx
