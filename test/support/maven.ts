/** Files from Maven Central, fetched once. Needs Maven. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The path of `group:name:version:type` in the folder. */
export function fromMaven(artifact: string, folder: string): string {
  const [, name, version, type] = artifact.split(':')
  const path = join(folder, `${name}-${version}.${type}`)
  if (existsSync(path)) return path
  const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'
  const args = ['-q', '-B', copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`]
  const { status, error } = spawnSync('mvn', args, { stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) throw new Error(`Maven did not fetch ${artifact}`)
  return path
}
