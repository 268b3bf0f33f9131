/*
 * kubectl-vpa, a plugin of kubectl: `kubectl vpa COMMAND`.
 */
#include "cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
