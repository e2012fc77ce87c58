# What the manual pages say that they are about. Arguments: the pages, openshmem.7 first where C types are
# wanted: it has the table of TYPENAME and TYPE. Lines of output, divided by tabs:
#
#   name      page  word                of the NAME section
#   generic   page  name  prototype     C11 forms in SYNOPSIS
#   template  page  name  prototype     the functions in SYNOPSIS, as they are written there
#   function  page  name  prototype     the same for each TYPENAME or SIZE
#   section   page  number              of the specification, from STANDARDS
#
# or with -v links=1 for each further name that a page should be found by: man section, page, name.
#
# A synopsis is C in an .EX block. A comment says what the prototypes after it are, up to the next comment:
# "C11" at its beginning, "TYPENAME: " or "SIZE: " and the list of what that stands for at its end.
function emit(kind, name, prototype)
{
    if (!links)
        print kind "\t" page "\t" name (prototype == "" ? "" : "\t" prototype)
    else if ((kind == "function" || kind == "generic" || kind == "name") && name !~ /TYPENAME|SIZE/ &&
             name "." suffix != page && !seen[name, page]++)
        print suffix "\t" page "\t" name
}

function name_of(prototype)
{
    match(prototype, /[A-Za-z_][A-Za-z0-9_]*\(/)
    return substr(prototype, RSTART, RLENGTH - 1)
}

function expand(prototype, placeholder, list,    words, count, i, one)
{
    count = split(list, words, /,? +/)
    for (i = 1; i <= count; i++) {
        one = prototype
        gsub(placeholder, words[i], one)
        if (placeholder == "TYPENAME" && words[i] in type)
            gsub(/TYPE/, type[words[i]], one)
        emit("function", name_of(one), one)
    }
}

function statement(prototype)
{
    if (comment ~ /^C11/) {
        emit("generic", name_of(prototype), prototype)
        return
    }
    emit("template", name_of(prototype), prototype)
    if (match(comment, /(TYPENAME|SIZE): /))
        expand(prototype, substr(comment, RSTART, RLENGTH - 2), substr(comment, RSTART + RLENGTH))
    else
        emit("function", name_of(prototype), prototype)
}

function synopsis(text,    end)
{
    gsub(/[ \t]+/, " ", text)
    comment = ""
    while (text !~ /^ *$/) {
        sub(/^ /, "", text)
        if (text ~ /^\/\*/) {
            end = index(text, "*/")
            comment = substr(text, 4, end - 5)
            text = substr(text, end + 2)
        } else {
            end = index(text, ";")
            if (!end) {
                print "names.awk: " FILENAME ": no prototype: " text >"/dev/stderr"
                exit 1
            }
            statement(substr(text, 1, end))
            text = substr(text, end + 1)
        }
    }
}

function names(text,    words, count, i)
{
    sub(/ \\- .*/, "", text)
    count = split(text, words, /,? +/)
    for (i = 1; i <= count; i++) {
        if (words[i] != "")
            emit("name", words[i])
    }
}

FNR == 1 {
    page = FILENAME
    sub(/.*\//, "", page)
    suffix = page
    sub(/.*\./, "", suffix)
    heading = ""
}

/^\.SH / {
    if (heading == "NAME")
        names(text)
    heading = substr($0, 5)
    text = ""
    next
}

heading == "NAME" { text = text " " $0 }

heading == "SYNOPSIS" && /^\.EX/ && suffix == 3 { text = ""; inside = 1; next }
heading == "SYNOPSIS" && /^\.EE/ && suffix == 3 { inside = 0; synopsis(text) }
inside && !/^#/ { text = text " " $0 }

heading == "TYPES" && /^[a-z]/ && NF > 1 && !/\.$/ { word = $1; sub(/^[^ ]+ +/, ""); type[word] = $0 }

heading == "STANDARDS" && suffix == 3 {
    count = split($0, words, /[, ]+/)
    for (i = 1; i <= count; i++) {
        sub(/\.$/, "", words[i])
        if (words[i] ~ /^[0-9F]+\.[0-9.]+$/ && words[i] != "1.6")
            emit("section", words[i])
    }
}
