// Text of others on a line of our own: it stays one line, and holds nothing that a terminal would obey.

export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ');
