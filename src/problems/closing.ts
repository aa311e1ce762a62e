/** For `await using`, of what has a method for that. */
export function closing(resource: { close(): unknown } | undefined): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await resource?.close();
    },
  };
}
