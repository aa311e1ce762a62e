import type { Readable } from 'node:stream';
import { type AttemptResult, isSuccess, MAX_ERROR_BYTES } from './exchange.ts';

type HttpResponse = AttemptResult & { readonly type: 'response' };

/** The maximum number of nested encodings. Each is subject to the same size limit. */
const MAX_ENCODINGS = 3;

/**
 * Decompresses the body of a response. Servers may compress a response even if the request does not allow it. undici's own interceptor is
 * not used, because it is experimental and prints a warning.
 * @returns a failure if the body is damaged, incomplete, larger than `maxBodyBytes` when decompressed, or has an unknown encoding. An error
 * response keeps its status and the readable part of its body.
 */
export async function decompress(result: AttemptResult, maxBodyBytes: number): Promise<AttemptResult> {
  if (result.type !== 'response' || result.body.length === 0) return result;
  const header = result.headers['content-encoding'];
  if (header === undefined) return result;
  const encodings = String(header)
    .toLowerCase()
    .split(',')
    .map((text) => text.trim());
  const isError = !isSuccess(result.status);
  const maxBytes = isError ? MAX_ERROR_BYTES : maxBodyBytes;
  let body = result.body;
  for (const encoding of encodings.filter((each) => each !== '' && each !== 'identity').reverse()) {
    const stream = encodings.length > MAX_ENCODINGS ? undefined : await decoderOf(encoding, body);
    if (stream === undefined) return isError ? { ...result, body: EMPTY } : damagedResponse(result, encoding);
    const { bytes, end } = await readUpTo(maxBytes, stream);
    if (end === 'too-large' && !isError) return { ...failure(result), reason: 'too-large' };
    if (end === 'damaged' && !isError) return damagedResponse(result, encoding);
    body = bytes;
  }
  return { ...result, body };
}

const EMPTY = Buffer.alloc(0);
/** RFC 9659 limits the windows of this encoding to 8 MB. Larger windows are for files. */
const ZSTD_WINDOW_LOG = 23;

/** Returns a decoder for the body. zlib is loaded only for a compressed response. */
async function decoderOf(encoding: string, body: Buffer): Promise<Readable | undefined> {
  const zlib = await import('node:zlib');
  const decoder = () => {
    switch (encoding) {
      case 'gzip':
      case 'x-gzip':
        return zlib.createGunzip();
      case 'deflate':
        // Some servers omit the two bytes of the zlib header.
        return ((body[0] ?? 0) & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw();
      case 'br':
        return zlib.createBrotliDecompress();
      case 'zstd':
        return zlib.createZstdDecompress({
          params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
        });
      default:
        return undefined;
    }
  };
  const stream = decoder();
  stream?.end(body);
  return stream;
}

type End = 'complete' | 'too-large' | 'damaged';

/** Reads a stream up to a limit, which protects against decompression bombs. */
async function readUpTo(maxBytes: number, stream: Readable): Promise<{ readonly bytes: Buffer; readonly end: End }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let end: End = 'complete';
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) {
        end = 'too-large';
        break;
      }
      chunks.push(chunk);
    }
  } catch {
    end = 'damaged';
  }
  return { bytes: Buffer.concat(chunks), end };
}

type FailedAttempt = AttemptResult & { readonly type: 'failure' };

function failure({ status }: HttpResponse): Omit<FailedAttempt, 'reason'> {
  return { type: 'failure', sent: true, status, error: undefined };
}

function damagedResponse(response: HttpResponse, encoding: string): FailedAttempt {
  const error = Object.assign(new Error(`content-encoding ${encoding}`), { code: DAMAGED_ENCODING });
  return { ...failure(response), reason: 'network', error };
}

/** The error code of a response that cannot be decompressed. */
export const DAMAGED_ENCODING = 'DAMAGED_ENCODING';
