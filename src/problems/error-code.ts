/** Returns the `code` of a system error or a Node error, e.g. `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Yields an error and its causes, the nearest first. Stops at a cycle. */
export function* errorChain(error: unknown): Generator<unknown> {
  const visited = new Set<unknown>();
  for (let next = error; next !== undefined && !visited.has(next); ) {
    yield next;
    visited.add(next);
    next = next instanceof Error ? next.cause : undefined;
  }
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
