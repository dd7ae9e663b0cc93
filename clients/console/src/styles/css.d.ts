// Style sheets are bundled by bin/build/console.ts.

declare module '*.css';
