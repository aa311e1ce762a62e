import { z } from 'zod';
import type { Json } from './json.ts';

export const jsonValue: z.ZodType<Json> = z.json();
