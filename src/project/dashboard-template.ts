import { z } from 'zod';
import { about } from '../values/described.ts';
import { lazy } from '../values/lazy.ts';
import { isTemplate } from './dashboard-address.ts';

/** The schema of a URL with `{id}`. */
export const dashboardTemplate = lazy(() =>
  z
    .string()
    .max(500)
    .refine((text) => isTemplate(text), {
      error: 'expected an http or https URL with {id} after its host, such as https://app.example.com/agents/{id}',
    })
    .meta(about('URL of a record in the dashboard, with {id}.', 'https://app.example.com/agents/{id}')),
);
