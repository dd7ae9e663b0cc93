// A date with none, some or all of a time of day: any beginning of `2026-01-02T03:04:05` that has the date whole, in UTC.

const WHOLE = '0001-01-01T00:00:00';
const DATE_LENGTH = 10;

/** The earliest moment whose text begins so: 2026-01-02T1 is ten o'clock. Undefined for what begins no moment. */
export function momentOf(text: string): Date | undefined {
  if (text.length < DATE_LENGTH || text.length > WHOLE.length) return undefined;
  const whole = text + WHOLE.slice(text.length);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(whole)) return undefined;
  const moment = new Date(`${whole}Z`);
  // The engine takes 30 February for 2 March; databases know no year 0.
  const same = !Number.isNaN(moment.getTime()) && moment.toISOString() === `${whole}.000Z`;
  return same && moment.getUTCFullYear() > 0 ? moment : undefined;
}
