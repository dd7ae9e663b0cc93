// Contract 2, Dataset handler job service: one row for every field, endpoint, code, state and case of its tables.

export const HANDLER_ROWS = {} as const satisfies Readonly<Record<`handler/${string}`, string>>;
export type HandlerRowId = keyof typeof HANDLER_ROWS;
