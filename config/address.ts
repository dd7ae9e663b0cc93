// Addresses in the configuration: `host[:port]`, `{host, port}`, and comma-separated lists of the former. An IPv6 host is
// written in brackets, as in a URL.

import { isIP, isIPv6 } from 'node:net';

export interface Address {
  /** Without brackets. */
  readonly host: string;
  readonly port?: number;
}

/** An address whose port was given or defaulted. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

const LABELS = '[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\\.[A-Za-z0-9-]{1,63})*';
const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])';
const IN_BRACKETS = '\\[[0-9A-Fa-f:.]{2,45}\\]';

/** A host alone: 1..253 characters, labels of 1..63; or an IPv6 address in brackets. */
export const HOST_PATTERN = `^(?:(?=.{1,253}$)${LABELS}|${IN_BRACKETS})$`;
/** `host[:port]`. */
export const ADDRESS_PATTERN = `^(?:(?=[^:]{1,253}(?::|$))${LABELS}|${IN_BRACKETS})(?::${PORT})?$`;

const HOST = new RegExp(HOST_PATTERN);
const ADDRESS = new RegExp(ADDRESS_PATTERN);

/** Undefined when the text is no address. */
export function parseAddress(text: string): Address | undefined {
  if (!ADDRESS.test(text)) return undefined;
  const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  if (bracketed !== undefined && !isIPv6(bracketed)) return undefined;
  const host = bracketed ?? plain ?? '';
  return port === undefined ? { host } : { host, port: Number(port) };
}

/** The addresses of `a:1, b:2`. Blanks around commas are ignored. Undefined when one of them is no address. */
export function parseAddressCsv(text: string): readonly Address[] | undefined {
  const addresses = text.split(',').map((part) => parseAddress(part.trim()));
  return addresses.every((address) => address !== undefined) ? addresses : undefined;
}

/** The host without brackets, or undefined when the text is no host. */
export function parseHost(text: string): string | undefined {
  if (!HOST.test(text)) return undefined;
  if (!text.startsWith('[')) return text;
  const inner = text.slice(1, -1);
  return isIPv6(inner) ? inner : undefined;
}

/** What a listener binds to: a host or any IP address, `::` and `::1` without brackets too. */
export function parseBindHost(text: string): string | undefined {
  return isIP(text) ? text : parseHost(text);
}

/** An IP address with an optional prefix length, such as `10.0.0.0/8`. */
export function isCidr(text: string): boolean {
  const [, ip = '', prefix] = /^([0-9A-Fa-f:.]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(ip);
  return family !== 0 && (prefix === undefined || Number(prefix) <= (family === 4 ? 32 : 128));
}
