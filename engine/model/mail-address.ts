// One mail address, without a name or anything that the head of a mail could take for more than one.

const EMAIL = /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,250}[\p{L}\p{N}])?$/u;

export const isEmail = (text: string): boolean => EMAIL.test(text);
