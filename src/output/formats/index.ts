import type { ReportFormat } from './format.ts';

/** The forms of a plan, of drift and of an apply, by what `--output` calls them; each is loaded when it is used. */
export const reportFormats = {
  text: () => import('./text-format.ts'),
  json: () => import('./json-format.ts'),
  markdown: () => import('./markdown-format.ts'),
  html: () => import('./html-format.ts'),
  github: () => import('./github-format.ts'),
} satisfies Record<string, () => Promise<{ readonly format: ReportFormat }>>;

export type ReportFormatName = keyof typeof reportFormats;

export const reportFormatNames = Object.keys(reportFormats) as ReportFormatName[];
