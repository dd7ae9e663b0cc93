// The message for an owner whose storage quota has no room for an upload or for a change they cause.

/** @param what subject and verb: `the upload has` */
export function overQuota(what: string, bytes: number | string, limitBytes: number, usedBytes: number): string {
  const left = Math.max(0, limitBytes - usedBytes);
  return `${what} ${bytes} bytes; of your storage quota of ${limitBytes} bytes, ${usedBytes} are used and ${left} are left`;
}
