/** What a method refuses: code that does not compile, a file that is not there, a check that does not hold. */
export class KclError extends Error {}

/** How to run a program; other fields of `ExecProgramArgs` may be given by their names, e.g. `sort_keys`. */
export interface Settings {
  /** Values for `option()`. */
  options?: Record<string, unknown>
  /** The folder that relative paths start from. */
  workDir?: string
  [field: string]: unknown
}

/** What came out of a run. */
export interface Result {
  yaml: string
  json: string
  /** What `print` wrote. */
  log: string
  /** The result as data; an array if the program wrote several documents. */
  readonly value: any
}

/** A case without `error` has passed. */
export interface TestCase {
  name: string
  error: string
  duration: number
  log_message: string
}

/** Calls a method of the API by its name, for instance `KclService.ListVariables`. */
export function call(method: string, args?: object): any
/** The same on a worker thread. */
export function callAsync(method: string, args?: object): Promise<any>
export function version(): string
export function run(code: string, settings?: Settings): Result
export function runAsync(code: string, settings?: Settings): Promise<Result>
export function runFiles(files: string | string[], settings?: Settings): Result
export function formatCode(source: string): string
export function formatPath(path: string, dryRun?: boolean): string[]
export function lint(paths: string | string[]): string[]
/** Changes values in a file by path; false if nothing was there. */
export function overrideFile(file: string, specs: string | string[], importPaths?: string[]): boolean
/** Throws what does not hold. */
export function validate(code: string, data: string, wish?: { schema?: string, format?: string, attribute?: string }): void
export function listVariables(files: string | string[], specs?: string[]): Record<string, any>
export function listOptions(paths: string | string[]): any[]
export function schemaTypes(files: string | string[], schema?: string): Record<string, any>
export function rename(packageRoot: string, symbol: string, files: string[], newName: string): string[]
export function test(packages: string | string[], wish?: { workDir?: string, run?: string, failFast?: boolean }): TestCase[]
