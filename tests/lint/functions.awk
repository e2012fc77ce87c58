# Reads C sources laid out as .clang-format does it (a function's braces begin a line) and prints what the lint tests
# judge, a fact a line, separated by tabs:
#   def   FILE LINE NAME static|inline|extern LINES     a function's definition
#   decl  FILE LINE NAME                                a function's declaration
#   call  FILE NAME                                     a call, anywhere in the file
#   word  FILE NAME                                     any other use of a word, in code and in macros
# Comments and what stands in quotes count for nothing; each call and word is told once for a file.

# code(LINE): the line without comments and quoted text.
function code(line,    out, at) {
    gsub(/\\["'\\]/, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    gsub(/'[^']*'/, "0", line)
    while (line != "") {
        if (comment) {
            if (!(at = index(line, "*/"))) return out
            line = substr(line, at + 2)
            comment = 0
        } else {
            if (!(at = index(line, "/*"))) { sub(/\/\/.*/, "", line); return out line }
            out = out substr(line, 1, at - 1)
            line = substr(line, at + 2)
            comment = 1
        }
    }
    return out
}

# named(HEAD): the function of a head or declaration: the word before the first parenthesis that is no attribute's. None
# in what sys/queue.h has macros for.
function named(head) {
    gsub(/__attribute__ *\(\([^;]*\)\)/, "", head)
    if (head ~ /[=]|\(\*|^ *typedef|^ *#/ || !match(head, /[A-Za-z_][A-Za-z0-9_]* *\(/)) return ""
    head = substr(head, RSTART, RLENGTH)
    sub(/ *\($/, "", head)
    return head ~ /^(_.*|if|for|while|switch|return|sizeof|(LIST|S?TAILQ)_.*)$/ ? "" : head
}

# uses(LINE, WITHOUT): prints the words of the line, except WITHOUT.
function uses(line, without,    word, called) {
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (word == without) continue
        called = line ~ /^ ?\(/ ? "call" : "word"
        if (!((called, FILENAME, word) in told)) {
            told[called, FILENAME, word] = 1
            print called "\t" FILENAME "\t" word
        }
    }
}

FNR == 1 { comment = inside = macro = 0; head = "" }
{ text = code($0) }
macro || text ~ /^ *#/ {
    macro = text ~ /\\$/
    uses(text)
    next
}
inside {
    uses(text)
    if (text ~ /^}/) {
        if (name != "") print "def\t" FILENAME "\t" first "\t" name "\t" kind "\t" FNR - first + 1
        inside = 0
        head = ""
    }
    next
}
text ~ /^{/ {
    name = named(head)
    kind = head ~ /(^| )static / ? (head ~ /inline/ ? "inline" : "static") : "extern"
    inside = 1
    uses(head, name)
    next
}
text ~ /^}/ || text ~ /^ *$/ { uses(head text); head = ""; next }
{
    if (head == "") first = FNR
    head = head " " text
    if (text ~ /; *$/) {
        word = named(head)
        if (word != "" && FILENAME ~ /\.h$/ && head !~ /{/) print "decl\t" FILENAME "\t" first "\t" word
        uses(head, word)
        head = ""
    }
}
