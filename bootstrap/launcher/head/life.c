/* The life of the job's PEs: all have started; all are gone; all their output is delivered: see
 * run.h. */
#include "bootstrap/launcher/head/run.h"
#include "bootstrap/launcher/memory.h"

static void life_pass_input(struct sy_input *input, const char *bytes, size_t length)
{
    struct sy_run *run = input->owner;

    for (int pe = 0; pe < run->npes && input->open; pe++) {
        if (!input->wants[pe])
            continue;
        if (run->pes[pe].alive)
            sy_run_send(&run->pes[pe], SY_DAEMON_INPUT, 0, bytes, length);
        else
            sy_input_taken(input, pe, true);
    }
}

/* Input is read once all PEs that may want it exist. */
void sy_run_start_input(struct sy_run *run)
{
    struct sy_input *input = &run->input;

    if (run->flags->input == SY_STDIN_NONE || run->all_gone || input->open)
        return;
    input->npes = run->npes;
    input->wants = sy_memory_zeroed((size_t)run->npes, sizeof *input->wants);
    for (int pe = 0; pe < run->npes; pe++)
        input->wants[pe] = run->flags->input == SY_STDIN_ALL || run->flags->input == pe;
    input->pass = life_pass_input;
    input->owner = run;
    sy_input_open(input, run->loop);
}

bool sy_run_is_done(const struct sy_run *run)
{
    return run->all_gone && !run->streams && !run->later_length && sy_nodes_are_done(run) &&
           sy_outputs_empty(&run->outputs);
}

void sy_run_check_done(struct sy_run *run)
{
    if (sy_run_is_done(run))
        ev_break(run->loop, EVBREAK_ALL);
}

void sy_run_host_gone(const struct sy_node *node)
{
    for (int i = 0; i < node->run->npes; i++) {
        struct sy_pe *pe = &node->run->pes[i];

        if (pe->node == node && pe->alive) {
            pe->alive = false;
            pe->run->living--;
        }
        if (pe->node == node && pe->started) {
            sy_forward_put(&pe->out, "", 0);
            sy_forward_put(&pe->err, "", 0);
        }
    }
}

void sy_run_check_gone(struct sy_run *run)
{
    if (run->all_gone || run->living || !sy_nodes_are_up(run))
        return;
    run->all_gone = true;
    ev_timer_stop(run->loop, &run->limit);
    ev_timer_stop(run->loop, &run->gather_limit);
    ev_timer_stop(run->loop, &run->ending.timer);
    ev_timer_stop(run->loop, &run->waiting.tick);
    ev_timer_stop(run->loop, &run->traces.limit);
    sy_input_close(&run->input);
    if (run->abort.asked)
        sy_ending_begin(run, run->abort.status, 0);
    else if (run->traces.running) /* the time was over before they left */
        sy_ending_begin(run, SY_FLAGS_OVERDUE, 0);
    sy_nodes_send(run, SY_DAEMON_FINISH, run->ending.begun);
    if (!run->node[0].local)
        ev_timer_again(run->loop, &run->last_commands);
    sy_run_check_done(run);
}
