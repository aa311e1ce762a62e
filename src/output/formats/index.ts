import type { ReportFormat } from './format.ts';

/** The forms of a plan, of drift and of an apply, by what `--output` calls them; each is loaded when it is used. */
export const reportFormats = {
  text: () => import('./text.ts'),
  json: () => import('./json.ts'),
  markdown: () => import('./markdown.ts'),
  html: () => import('./html.ts'),
  github: () => import('./github.ts'),
} satisfies Record<string, () => Promise<{ readonly format: ReportFormat }>>;

export type ReportFormatName = keyof typeof reportFormats;

export const reportFormatNames = Object.keys(reportFormats) as ReportFormatName[];
