// What an owner is told whose storage quota has no room for what they send or cause.

/** @param what with its verb: `the upload has` */
export function overQuota(what: string, bytes: number | string, limitBytes: number, usedBytes: number): string {
  const left = Math.max(0, limitBytes - usedBytes);
  return `${what} ${bytes} bytes; of your storage quota of ${limitBytes} bytes, ${usedBytes} are used and ${left} are left`;
}
