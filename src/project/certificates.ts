import { X509Certificate } from 'node:crypto';
import { readTextFile } from '../manifests/read-file.ts';
import { attempt } from '../problems/attempt.ts';

const BLOCK = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g;

/**
 * The certificates of a PEM file, or the problem with it.
 * @param inside the real path of a folder that must contain the file; undefined for any place.
 */
export function readCertificates(
  file: string,
  inside?: string,
): { readonly pem: string } | { readonly problem: string } {
  const read = readTextFile(file, inside);
  if ('problem' in read) return { problem: read.problem.message };
  const blocks = read.text.match(BLOCK) ?? [];
  if (blocks.length === 0) return { problem: 'the file holds no certificate in PEM form' };
  for (const [index, block] of blocks.entries()) {
    if (attempt(() => new X509Certificate(block)) === undefined)
      return { problem: `certificate ${index + 1} of the file cannot be read` };
  }
  return { pem: blocks.join('\n') };
}
