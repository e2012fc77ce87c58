/* What a frame may look like: see frames.h. */
#include "bootstrap/control/frames.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    PE = 1,   /* a frame about one PE */
    HOST = 2, /* about all of the host */
    BOTH = PE | HOST,

    TO_PE = SY_FRAME_AT_PE | SY_FRAME_AT_AGENT,    /* the agent passes it on */
    OF_PE = SY_FRAME_AT_DAEMON | SY_FRAME_AT_HEAD, /* the same upwards */
    UP = SY_FRAME_AT_PARENT,                       /* in the control tree */
    DOWN = SY_FRAME_AT_CHILD,
    TO_AGENT = SY_FRAME_AT_AGENT,
    TO_HEAD = SY_FRAME_AT_HEAD,

    NEW = SY_FRAME_NEW,
    STARTING = SY_FRAME_STARTING,
    RUNNING = SY_FRAME_RUNNING,
    /* PEs that have started may speak while others are being started. */
    LATER = STARTING | RUNNING,
    ANY = NEW | LATER
};

#define ANY_NUMBER  INT32_MIN, INT32_MAX
#define ANY_MORE    0, UINT16_MAX
#define STREAM      1, 2
#define FRAME(TYPE) #TYPE, TYPE

static const struct frame {
    const char *name;
    uint32_t type;
    int readers, about, states;
    uint32_t least, most; /* bytes of body */
    int32_t low, high;    /* arg */
    uint16_t first, last; /* more */
} FRAMES[] = {
    // clang-format off
    {FRAME(SY_CONTROL_HELLO), OF_PE, PE, LATER, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_WELCOME), TO_PE, PE, LATER, sizeof(struct sy_launch_welcome), sizeof(struct sy_launch_welcome), ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_GATHER), OF_PE, PE, LATER, 0, SY_LAUNCH_BODY_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_GATHERED), TO_PE, BOTH, LATER, 0, SY_LAUNCH_GATHERED_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_MARK), OF_PE | UP | DOWN, PE, LATER, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_ABORT), OF_PE | UP | DOWN, PE, LATER, 0, SY_LAUNCH_TEXT_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_EXIT), TO_PE, BOTH, LATER, 0, 0, INT_MIN, INT_MAX, ANY_MORE},
    {FRAME(SY_CONTROL_ASK), TO_PE, BOTH, LATER, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_NOTE), OF_PE, PE, LATER, 0, SY_LAUNCH_NOTE_MAX, -1, INT_MAX, ANY_MORE},
    {FRAME(SY_CONTROL_BLOCKED), OF_PE, PE, LATER, sizeof(uint64_t), sizeof(uint64_t), ANY_NUMBER, 0, 127},

    {FRAME(SY_CONTROL_JOIN), UP, PE, NEW, 1, SY_LAUNCH_TEXT_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_ATTACH), UP, PE, NEW, 1, SY_LAUNCH_TEXT_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_HERE), UP, PE, STARTING, SY_CONTROL_HOST, SY_CONTROL_HOST, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_ALL), DOWN, PE, STARTING, 1, SY_LAUNCH_TEXT_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_GATHER), UP, PE, RUNNING, 0, SY_LAUNCH_BODY_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_GATHERED), DOWN, PE, RUNNING, 0, SY_LAUNCH_GATHERED_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_ASK), DOWN, PE, RUNNING, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_CONTROL_NOTE), UP, PE, RUNNING, 0, SY_LAUNCH_NOTE_MAX, -1, INT_MAX, ANY_MORE},
    {FRAME(SY_CONTROL_BLOCKED), UP, PE, RUNNING, sizeof(uint64_t), sizeof(uint64_t), ANY_NUMBER, 0, 127},

    {FRAME(SY_DAEMON_START), TO_AGENT, HOST, NEW, 1, SY_DAEMON_SPEC_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_SIGNAL), TO_AGENT, BOTH, LATER, 0, 0, 1, 64, ANY_MORE},
    {FRAME(SY_DAEMON_CREDIT), TO_AGENT, PE, LATER, 0, 0, 1, SY_DAEMON_WINDOW, STREAM},
    {FRAME(SY_DAEMON_INPUT), TO_AGENT, PE, LATER, 0, SY_DAEMON_WINDOW, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_TRACE), TO_AGENT, PE, LATER, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_FINISH), TO_AGENT, HOST, LATER, 0, 0, 0, 1, ANY_MORE},
    {FRAME(SY_DAEMON_PING), TO_AGENT, HOST, ANY, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_PAUSE), TO_AGENT, HOST, ANY, 0, 0, ANY_NUMBER, ANY_MORE},

    {FRAME(SY_DAEMON_STARTED), TO_HEAD, PE, STARTING, 0, 0, 1, INT_MAX, ANY_MORE},
    {FRAME(SY_DAEMON_UP), TO_HEAD, HOST, STARTING, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_TROUBLE), TO_HEAD, HOST, LATER, 1, SY_LAUNCH_BODY_MAX, 1, 255, ANY_MORE},
    {FRAME(SY_DAEMON_SAY), TO_HEAD, PE, STARTING, 0, SY_LAUNCH_TEXT_MAX, 0, SY_SAY_LINES - 1, ANY_MORE},
    {FRAME(SY_DAEMON_OUTPUT), TO_HEAD, PE, LATER, 0, SY_DAEMON_WINDOW, ANY_NUMBER, STREAM},
    {FRAME(SY_DAEMON_TAKEN), TO_HEAD, PE, LATER, 0, 0, 0, 1, ANY_MORE},
    {FRAME(SY_DAEMON_FAULT), TO_HEAD, PE, LATER, 0, SY_LAUNCH_TEXT_MAX, 0, 1, ANY_MORE},
    {FRAME(SY_DAEMON_ENDED), TO_HEAD, PE, LATER, 0, 0, 0, SY_DAEMON_SHORT | 0xffff, ANY_MORE},
    {FRAME(SY_DAEMON_JUDGE), TO_HEAD, HOST, LATER, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_TRACED), TO_HEAD, PE, LATER, 0, SY_DAEMON_TRACE_MAX, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_FINISHED), TO_HEAD, HOST, RUNNING, 0, 0, ANY_NUMBER, ANY_MORE},
    {FRAME(SY_DAEMON_PONG), TO_HEAD, HOST, ANY, 0, 0, ANY_NUMBER, ANY_MORE},
    // clang-format on
};

static const struct frame *frames_find(uint32_t type, enum sy_frame_reader reader)
{
    for (size_t i = 0; i < sizeof FRAMES / sizeof *FRAMES; i++) {
        if (FRAMES[i].type == type && (FRAMES[i].readers & (int)reader))
            return &FRAMES[i];
    }
    return NULL;
}

const char *sy_frame_fault(const struct sy_frame *header, enum sy_frame_reader reader,
                           enum sy_frame_state state)
{
    static _Thread_local char text[160];
    const struct frame *frame = frames_find(header->type, reader);
    /* Between a PE and the daemon that started it frames are about that PE alone. */
    bool direct = reader == SY_FRAME_AT_PE || reader == SY_FRAME_AT_DAEMON;
    const char *what = NULL;

    if (!frame)
        return "a frame of unknown type";
    if (header->length > frame->most) {
        if (!frame->most)
            snprintf(text, sizeof text, "a frame with a body where none belongs (%s)", frame->name);
        else
            snprintf(text, sizeof text, "a frame of %lu bytes where %lu are the most (%s)",
                     (unsigned long)header->length, (unsigned long)frame->most, frame->name);
        return text;
    }
    if (header->length < frame->least)
        what = "too short";
    else if (!(frame->states & (int)state))
        what = "at a time when none belongs";
    else if (!direct && (header->pe < SY_ALL || header->pe >= SY_LAUNCH_PES_MAX ||
                         !(frame->about & (header->pe == SY_ALL ? HOST : PE))))
        what = "about a PE that there cannot be";
    else if (header->arg < frame->low || header->arg > frame->high || header->more < frame->first ||
             header->more > frame->last)
        what = "with a number that there cannot be";
    if (!what)
        return NULL;
    snprintf(text, sizeof text, "a frame %s (%s)", what, frame->name);
    return text;
}
