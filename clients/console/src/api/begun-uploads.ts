// When the file of each upload that was begun here was changed last. The server knows its name and size only, so without this a
// file that was corrected meanwhile, with the same size, would be joined from two versions. Kept in this browser, for each person:
// somebody may go on tomorrow.

type Times = Readonly<Record<string, number>>;

const keyOf = (userId: number | undefined): string => `longshore.uploads.${userId}`;

/** By upload; milliseconds since 1970. */
export function changeTimes(userId: number | undefined): Times {
  try {
    return JSON.parse(localStorage.getItem(keyOf(userId)) ?? '{}') as Times;
  } catch {
    return {};
  }
}

export const keepChangeTime = (userId: number | undefined, uploadId: string, ms: number): void =>
  keep(userId, { ...changeTimes(userId), [uploadId]: ms });

/** Drops those of uploads that the server has no more. */
export function dropOthers(userId: number | undefined, uploadIds: ReadonlySet<string>): void {
  keep(userId, Object.fromEntries(Object.entries(changeTimes(userId)).filter(([id]) => uploadIds.has(id))));
}

function keep(userId: number | undefined, times: Times): void {
  try {
    localStorage.setItem(keyOf(userId), JSON.stringify(times));
  } catch {
    // A browser that keeps nothing, or is full: after a reload, the file is sent from its beginning.
  }
}
