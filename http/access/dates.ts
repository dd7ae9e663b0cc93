// Dates of the dataset access service.

const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** A date, or date and time, of ISO 8601; UTC when it names no offset. Undefined for anything else. */
export function parseDate(text: string): Date | undefined {
  const [, year = '', month = '', day = '', offset] = DATE.exec(text) ?? [];
  if (year === '' || Number(year) < 1) return undefined;
  // Days that the month does not have would become days of the next.
  const calendar = new Date(0);
  calendar.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (calendar.getUTCMonth() !== Number(month) - 1 || calendar.getUTCDate() !== Number(day)) return undefined;
  const date = new Date(text.includes('T') && offset === undefined ? `${text}Z` : text);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The contract's `datetime-only`: UTC without an offset. */
export const dateTimeOnly = (date: Date): string => date.toISOString().slice(0, -1);
