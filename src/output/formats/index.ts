import type { ReportFormat } from './format.ts';

/** The formats of a plan, a drift and an apply, by the value of `--output`. Each is imported on first use. */
export const reportFormats = {
  text: () => import('./text-format.ts'),
  json: () => import('./json-format.ts'),
  markdown: () => import('./markdown-format.ts'),
  html: () => import('../html/html-report.ts'),
  github: () => import('./github-format.ts'),
} satisfies Record<string, () => Promise<{ readonly format: ReportFormat }>>;

export type ReportFormatName = keyof typeof reportFormats;

export const reportFormatNames = Object.keys(reportFormats) as ReportFormatName[];
