/** Parses the command line. Errors are one line on stderr and exit code 1. */
import cluster from 'node:cluster'
import { Command } from 'commander'
import { AppError, UsageError } from './errors.ts'
import { packageVersion } from './version.ts'

// Loaded on demand, so that the service starts without the roster code.
const roster = () => import('./commands/roster.ts')

const program = new Command('chiron')
  .description('The access service of a veterinary school')
  .version(packageVersion())
  .showSuggestionAfterError(false)
  .configureOutput({
    outputError: (text, write) =>
      write(`chiron: ${text.replace(/^error: /, '').trim()}; chiron --help lists the commands\n`),
  })

program
  .command('serve')
  .description('run the service')
  .option('--json', 'log as JSON, also on a terminal')
  .action(async (options) => (await import('./commands/serve.ts')).serve(options))
program
  .command('migrate')
  .description('bring the store up to date')
  .option('--json', 'answer as JSON')
  .action(async (options) => (await import('./commands/migrate.ts')).migrateCommand(options))

const rosterCommand = program.command('roster').description('the school’s roster, as OneRoster CSV')
const withReport = (command: Command) =>
  command
    .option('--json', 'answer as JSON lines')
    .option('--verbose', 'every change field by field, and every finding')
    .option('--report <file>', 'write a report that can be sent to the registrar')
withReport(
  rosterCommand.command('check <file>').description('show what importing a zip or folder would do'),
).action(async (file, options) => (await roster()).rosterCheck(file, options))
withReport(rosterCommand.command('import <file>').description('show the plan, ask, and import'))
  .option('--yes', 'do not ask')
  .option('--force', 'import although the plan is held')
  .action(async (file, options) => (await roster()).rosterImport(file, options))
rosterCommand
  .command('undo')
  .description('go back to the roster before the last import')
  .option('--json', 'answer as JSON lines')
  .option('--yes', 'do not ask')
  .action(async (options) => (await roster()).rosterUndo(options))
rosterCommand
  .command('history')
  .description('what was imported when, newest first')
  .option('--json', 'answer as JSON lines')
  .action(async (options) => (await roster()).rosterHistory(options))

try {
  await program.parseAsync()
} catch (error) {
  const reason = explain(error)
  // All workers fail for the same reason; the primary reports it once.
  if (cluster.isWorker) process.send?.({ failed: reason }, () => process.exit(1))
  else fail(reason)
}

function fail(reason: string): never {
  const asJson = process.argv.includes('--json')
  process.stderr.write(asJson ? `${JSON.stringify({ error: reason })}\n` : `chiron: ${reason}\n`)
  process.exit(1)
}

function explain(error: unknown): string {
  if (error instanceof UsageError) return error.message
  if (error instanceof AppError) return `${error.message} ${causeOf(error)}`.trim()
  const { code, message, ...rest } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE') return `port ${rest.port} is taken: stop the other program, or set CHIRON_PORT`
  return code ? `${message} (${code})` : String(message ?? error)
}

function causeOf(error: AppError): string {
  const cause = error.extra.cause as
    | { message?: string; code?: string; errors?: { message: string }[] }
    | undefined
  return cause?.message || cause?.errors?.[0]?.message || cause?.code || ''
}
