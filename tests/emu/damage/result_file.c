#include "unit/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "emu/damage/result_file.h"

void result_text(struct json_object *o, const char *key, const char *text)
{
    json_object_object_add(o, key, json_object_new_string(text));
}

void result_number(struct json_object *o, const char *key, int64_t number)
{
    json_object_object_add(o, key, json_object_new_int64(number));
}

struct json_object *result_begin(const char *made_by, const char *what, const char *command)
{
    char commit[32] = "", machine[96];
    struct utsname name;
    struct json_object *record = json_object_new_object();
    FILE *git = popen("git rev-parse --short HEAD", "r");
    if (git && fgets(commit, sizeof commit, git))
        commit[strcspn(commit, "\n")] = 0;
    if (git)
        pclose(git);
    result_text(record, "made_by", made_by);
    result_text(record, "what", what);
    result_text(record, "command", command);
    result_text(record, "commit", commit);
    assert_int_equal(uname(&name), 0);
    snprintf(machine, sizeof machine, "%ld cores of %s", sysconf(_SC_NPROCESSORS_ONLN), name.machine);
    result_text(record, "machine", machine);
    return record;
}

void result_end(struct json_object *record, const char *path)
{
    if (json_object_to_file_ext(path, record, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE))
        fail_msg("%s is not written", path);
    json_object_put(record);
}
