/** Returns a disposable for `await using` that closes the resource. */
export function asDisposable(resource: { close(): unknown } | undefined): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await resource?.close();
    },
  };
}
