# shmem.json.5 from its .in file and docs/options.md: the tables of options there, which have five columns,
# become lists in the place of @OPTIONS@. Arguments: options.md, then shmem.json.5.in.
function roff(text,    word)
{
    gsub(/\\/, "\\e", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    while (match(text, /`[^`]*`/)) {
        word = substr(text, RSTART + 1, RLENGTH - 2)
        gsub(/-/, "\\-", word)
        text = substr(text, 1, RSTART - 1) "\\fB" word "\\fP" substr(text, RSTART + RLENGTH)
    }
    gsub(/\(\*job\*\)/, "(\\fIjob\\fP)", text)
    return text
}

FNR == 1 { file++ }

file == 1 && /^## / { heading = substr($0, 4) }

file == 1 && /^\| `/ {
    if (split($0, cell, / \| |^\| | \|$/) != 7)
        next
    if (heading != "") {
        list = list ".SS " roff(heading) "\n"
        heading = ""
    }
    key = cell[3] ~ /^`/ ? cell[3] ", " cell[2] : cell[2] " (" cell[3] ")"
    list = list ".TP\n" roff(key) "\n" roff(cell[6]) ".\n.br\nType: " roff(cell[4]) ". Default: " \
           roff(cell[5]) ".\n"
}

file == 2 && $0 == "@OPTIONS@" { printf "%s", list; next }
file == 2 { gsub(/@sysconfdir@/, sysconfdir); print }

END { if (list == "") { print "options.awk: no table of options" >"/dev/stderr"; exit 1 } }
