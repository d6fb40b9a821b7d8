/**
 * Supports NODE_EXTRA_CA_CERTS in a settings file. Node reads it only from the environment at startup, and threads,
 * workers and every TLS connection need it. So the process replaces itself with one started with it.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { UsageError } from '../../errors.ts'
import { errorFields } from './error-fields.ts'

export function trustAuthorities(file: string | undefined): void {
  if (file === undefined || file === '') return
  checkCertificates(file)
  if (process.env.NODE_EXTRA_CA_CERTS === file) return
  const { execPath, execArgv, argv, env } = process
  process.execve!(execPath, [execPath, ...execArgv, '--', ...argv.slice(1)], {
    ...env,
    NODE_EXTRA_CA_CERTS: file,
  })
}

/** Node itself only warns and continues without them. */
function checkCertificates(file: string): void {
  try {
    new X509Certificate(readFileSync(file))
  } catch (error) {
    const { code, message } = errorFields(error)
    const reasons: Record<string, string> = {
      ENOENT: 'there is no such file',
      EACCES: 'this user may not read it',
    }
    throw new UsageError(
      `NODE_EXTRA_CA_CERTS=${file}: ${reasons[code ?? ''] ?? `it has no certificate (${message})`}`,
    )
  }
}
