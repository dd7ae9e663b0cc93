// What somebody has typed into a long form, for a reload of the page. It is kept in this tab only, for this user only.

const KEY = 'longshore.draft';

export type Draft = Readonly<Record<string, string>>;

export function draftOf(userId: number | undefined): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as {
      readonly userId?: number;
      readonly draft?: Draft;
    };
    return kept.userId === userId ? (kept.draft ?? {}) : {};
  } catch {
    return {};
  }
}

export const keepDraft = (userId: number | undefined, draft: Draft): void =>
  sessionStorage.setItem(KEY, JSON.stringify({ userId, draft }));

export const dropDraft = (): void => sessionStorage.removeItem(KEY);
