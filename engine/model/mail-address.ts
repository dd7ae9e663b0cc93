// One mail address, without a name or anything that the head of a mail could take for more than one.

const EMAIL = /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,250}[\p{L}\p{N}])?$/u;

const ASCII = /^\p{ASCII}$/u;

export const isEmail = (text: string): boolean => EMAIL.test(text) && addressKey(text) !== undefined;

/**
 * What an address is compared by: NFC, with ASCII letters in lower case. No other letters have two cases here, since rules for
 * them make one letter of two: U+212A, the Kelvin sign, would be a k. Undefined for an address with a character that NFC
 * makes an ASCII one, for the same reason; it equals no other.
 */
export function addressKey(address: string): string | undefined {
  if (!address.isWellFormed()) return undefined;
  for (const character of address)
    if (!ASCII.test(character) && ASCII.test(character.normalize('NFC'))) return undefined;
  return address.normalize('NFC').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
