// Contract 3, Dataset access service: one row for every field, endpoint, code and rule of its tables.

export const ACCESS_ROWS = {} as const satisfies Readonly<Record<`access/${string}`, string>>;
export type AccessRowId = keyof typeof ACCESS_ROWS;
