// The icons, drawn with lines. They say nothing to screen readers: the text beside them does.

const PATHS = {
  datasets:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zM4 6v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  upload: 'M12 16V4M7 9l5-5 5 5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3',
  access: 'M7 14a4 4 0 1 1 3.9-5H21v4h-3v3h-4v-3h-3.1A4 4 0 0 1 7 14z',
  report: 'M6 3h9l4 4v14H6zM14 3v5h5M9 13h6M9 17h6',
  problem: 'M12 3 2.5 20h19zM12 10v4M12 17v.5',
  lanes: 'M4 6h16M4 12h16M4 18h16M9 4v4M15 10v4M7 16v4',
  plots: 'M4 4v16h16M8 15l3-4 3 2 5-6',
  configuration: 'M4 7h9M19 7h1M4 17h1M11 17h9M16 4v6M8 14v6',
  audit: 'M5 4h14v16H5zM9 9h6M9 13h6M9 17h3',
  share:
    'M8 12a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM22 5a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM22 19a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM7.6 10.6l8.8-4.2M7.6 13.4l8.8 4.2',
  delete: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  refresh: 'M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7',
  menu: 'M4 6h16M4 12h16M4 18h16',
  close: 'M6 6l12 12M18 6 6 18',
  up: 'M12 19V5M6 11l6-6 6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  done: 'M5 12.5l4.5 4.5L19 7.5',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  download: 'M12 4v12M7 11l5 5 5-5M4 19h16',
  pause: 'M8 5v14M16 5v14',
  resume: 'M7 4l13 8-13 8z',
  edit: 'M4 20h4L20 8l-4-4L4 16zM14 6l4 4',
  user: 'M16 8a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM4.5 21a7.5 7.5 0 0 1 15 0',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The icon of the product (icon.svg). */
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0b5a6f" />
      <g fill="none" stroke="#fff" strokeWidth="2.4" strokeLinecap="round" strokeLinejoin="round">
        <path d="M8 17h16l-2.6 6.2a1.5 1.5 0 0 1-1.4.9h-8a1.5 1.5 0 0 1-1.4-.9z" />
        <path d="M11.5 17v-5h9v5M16 12V7.5" />
        <path d="M6 27.5c1.7 0 1.7-1 3.3-1s1.7 1 3.4 1 1.6-1 3.3-1 1.7 1 3.3 1 1.7-1 3.4-1 1.6 1 3.3 1" />
      </g>
    </svg>
  );
}
