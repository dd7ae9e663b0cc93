// The command line is invalid: exit code 2 and the usage line.

export class UsageError extends Error {}
