// One mail address, without a display name and without characters that a mail header could read as several addresses.

const EMAIL = /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,250}[\p{L}\p{N}])?$/u;

const ASCII = /^\p{ASCII}$/u;

export const isEmail = (text: string): boolean => EMAIL.test(text) && addressKey(text) !== undefined;

/**
 * The form in which addresses are compared: NFC, with ASCII letters in lower case. Other letters keep their case, because case
 * rules merge different letters: U+212A, the Kelvin sign, would become a k. For the same reason an address with a character
 * that NFC turns into an ASCII one is undefined; it equals no other.
 */
export function addressKey(address: string): string | undefined {
  if (!address.isWellFormed()) return undefined;
  for (const character of address)
    if (!ASCII.test(character) && ASCII.test(character.normalize('NFC'))) return undefined;
  return address.normalize('NFC').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
