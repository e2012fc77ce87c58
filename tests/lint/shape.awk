# Judges what functions.awk found of the sources, beside tests/lint/ceilings.txt: what the product has more than is
# listed there is an error, and so is what is listed and is no longer there. With -v write=lower it prints the
# ceilings as they may be now, none of them higher; with -v write=anew as they are.
BEGIN { FS = "\t" }
function product(file) { return file ~ /^(shmem|bootstrap|transports)\// }
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
function base(path) { sub(/.*\//, "", path); return path }
# A .c file and the header of its name are one.
function unit(path) { sub(/\.[ch]$/, "", path); return path }

# The ceilings; the rest are facts.
FILENAME ~ /ceilings\.txt$/ {
    if ($0 ~ /^#/ || NF < 2) next
    if ($1 == "unprefixed") {
        count = split($3, word, " ")
        for (i = 1; i <= count; i++) allowed[$1, $2, word[i]] = 1
    } else
        allowed[$1, $2] = $3
    next
}
!product($2) { if ($1 ~ /call|word/) outside[$3] = 1; next }
$1 == "def" {
    defined[$4] = $2
    if ($4 != "main" && ++twice[$4] > 1) where[$4] = where[$4] ", " $2 ":" $3
    else where[$4] = $2 ":" $3
    if ($5 != "static") home[folder($2), $4] = unit($2)
    units[unit($2)] = 1
    if ($5 == "inline" && $2 ~ /\.h$/) declared[$4] = $2 ":" $3
    if ($5 == "static" && $6 > 5 && !prefixed($4, base(unit($2)), base(folder($2)))) loose[base($2), $4] = $2 ":" $3
}
$1 == "decl" { declared[$4] = $2 ":" $3 }
$1 == "call" { calls[++called] = unit($2) SUBSEP $3 }
$1 == "call" || $1 == "word" { users[$3] = users[$3] " " $2 }

# A name may begin with the file's name, its singular, or its first word; or with the folder's name, where several
# folders have a file of that name.
function prefixed(name, file, room,    word, one) {
    word = file
    sub(/_.*/, "", word)
    one = file
    sub(/s$/, "", one)
    return index(name, file "_") == 1 || index(name, one "_") == 1 || index(name, word "_") == 1 || name == file ||
        index(name, room "_" file "_") == 1 || name == room "_" file ||
        name ~ /^sy_/
}

function wrong(text) { print "FAIL: " text; failed = 1 }

function declarations(    name, user, count, i, elsewhere) {
    for (name in declared) {
        if (!(name in defined)) {
            wrong(declared[name] ": " name " is declared and defined nowhere: delete the declaration")
            continue
        }
        elsewhere = name in outside
        count = split(users[name], user, " ")
        for (i = 1; i <= count; i++)
            if (user[i] != defined[name] || user[i] ~ /\.h$/) elsewhere = 1
        if (!elsewhere && count)
            wrong(declared[name] ": " name " is used in " defined[name] " only: make it static there")
        else if (!elsewhere)
            wrong(declared[name] ": " name " is used by nobody: delete it")
    }
}

# reach(UNIT): the units of its folder that its calls lead to.
function reach(from,    stack, top, at, list, count, i) {
    stack[top = 1] = from
    while (top > 0) {
        at = stack[top--]
        count = split(edges[at], list, " ")
        for (i = 1; i <= count; i++)
            if (!((from, list[i]) in reached)) {
                reached[from, list[i]] = 1
                stack[++top] = list[i]
            }
    }
}
# The largest cycle of calls of each folder: files of which each leads to each.
function cycles(    i, part, to, from, size, names, seen) {
    for (i = 1; i <= called; i++) {
        split(calls[i], part, SUBSEP)
        to = home[folder(part[1]), part[2]]
        if (to != "" && to != part[1] && !((part[1], to) in edge)) {
            edge[part[1], to] = 1
            edges[part[1]] = edges[part[1]] " " to
        }
    }
    for (from in units) reach(from)
    for (from in units) {
        if (from in seen) continue
        size = 0
        names = ""
        for (to in units)
            if (to == from || (((from, to) in reached) && ((to, from) in reached))) {
                size++
                seen[to] = 1
                names = names " " base(to)
            }
        if (size > largest[folder(from)]) {
            largest[folder(from)] = size
            members[folder(from)] = names
        }
    }
    for (from in largest)
        if (largest[from] > 4 && !write) {
            if (largest[from] > allowed["cycle", from] + 0)
                wrong(from ": calls lead round through " largest[from] " files, the ceiling is " \
                    (allowed["cycle", from] ? allowed["cycle", from] : 4) ":" members[from] \
                    "; a lower layer calls no upper one: hand it a callback, or move the function")
        } else if (largest[from] > 4)
            tell("cycle", from, largest[from], allowed["cycle", from])
    for (i in allowed) {
        split(i, part, SUBSEP)
        if (part[1] == "cycle" && largest[part[2]] + 0 < allowed[i] && !write) stale(part[2] ": the cycle of calls")
    }
}

# tell(KIND, WHAT, NOW, CEILING): prints a line of ceilings.txt.
function tell(kind, what, now, ceiling) {
    if (write == "lower" && now > ceiling + 0) now = ceiling + 0
    if (now) print kind "\t" what "\t" now
}

function stale(what) {
    wrong(what " is smaller than tests/lint/ceilings.txt says: lower it by tests/lint/budgets.test lower")
}

function statics(    i, part, list, file) {
    for (i in loose) {
        split(i, part, SUBSEP)
        if (write == "anew" || ("unprefixed", part[1], part[2]) in allowed) list[part[1]] = list[part[1]] " " part[2]
        if (!write && !(("unprefixed", part[1], part[2]) in allowed))
            wrong(loose[i] ": " part[2] " is static, has more than five lines and does not begin with its file's name:" \
                " call it " unit(part[1]) "_" part[2])
    }
    if (write)
        for (file in list) print "unprefixed\t" file "\t" substr(list[file], 2)
    else
        for (i in allowed) {
            split(i, part, SUBSEP)
            if (part[1] == "unprefixed" && !((part[2], part[3]) in loose)) stale(part[2] ": " part[3] ": the list")
        }
}

function names(    name) {
    for (name in twice) {
        if (twice[name] == 1) continue
        if (write) tell("same-name", name, twice[name], allowed["same-name", name])
        else if (twice[name] > allowed["same-name", name] + 0)
            wrong(where[name] ": one name for several functions, " name ": begin it with the file's name")
    }
    for (name in allowed)
        if (name ~ /^same-name/ && !write) {
            split(name, part, SUBSEP)
            if (twice[part[2]] < allowed[name]) stale(part[2] ": the number of functions of this name")
        }
}

END {
    if (!write) declarations()
    cycles()
    statics()
    names()
    if (write) exit 0
    if (!failed) print "ok: declarations, cycles of calls, names of functions"
    exit failed
}
