import { z } from 'zod';

const position = z.object({ line: z.uint32(), character: z.uint32() });

/** The parameters of requests, as far as they are used. */
export const inFile = z.object({ textDocument: z.object({ uri: z.string() }) });
export const atPosition = inFile.extend({ position });
export const forReferences = atPosition.extend({ context: z.object({ includeDeclaration: z.boolean() }) });
export const forRename = atPosition.extend({ newName: z.string() });
export const forQuery = z.object({ query: z.string() });
export const forCodeActions = inFile.extend({
  range: z.object({ start: position, end: position }),
  context: z.object({ only: z.array(z.string()).optional() }),
});
export const forInitialize = z.object({
  capabilities: z.looseObject({}),
  rootUri: z.string().nullish(),
  workspaceFolders: z.array(z.object({ uri: z.string() })).nullish(),
});

/** Describes the first invalid parameter of a request; undefined if all are valid. */
export function paramsProblem(schema: z.ZodType, params: unknown): string | undefined {
  const issue = schema.safeParse(params).error?.issues[0];
  return issue && `${['params', ...issue.path].join('.')} is missing or invalid`;
}
