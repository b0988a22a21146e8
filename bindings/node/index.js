'use strict'

const native = require('./build/kcl.node')

/** What a method refuses: code that does not compile, a file that is not there, a check that does not hold. */
class KclError extends Error {
  constructor (message) {
    super(message)
    this.name = 'KclError'
  }
}

function call (method, args = {}) {
  let answer
  try {
    answer = native.call(String(method), JSON.stringify(args))
  } catch (error) {
    throw new KclError(error.message)
  }
  return JSON.parse(answer)
}

async function callAsync (method, args = {}) {
  try {
    return JSON.parse(await native.callAsync(String(method), JSON.stringify(args)))
  } catch (error) {
    throw new KclError(error.message)
  }
}

function program (files, texts, { options = {}, workDir = '', ...settings } = {}) {
  // What is undefined is not given, as in JSON itself.
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const args = given.map(([name, value]) => ({ name, value: JSON.stringify(value) }))
  return { k_filename_list: files, k_code_list: texts, args, work_dir: workDir, ...settings }
}

function result (answer) {
  if (answer.err_message) throw new KclError(answer.err_message)
  const json = answer.json_result
  return {
    yaml: answer.yaml_result,
    json,
    log: answer.log_message,
    get value () {
      const texts = json.split('\n')
      return texts.length === 1 ? JSON.parse(json) : texts.map((text) => JSON.parse(text))
    }
  }
}

const list = (files) => (Array.isArray(files) ? files : [files])

module.exports = {
  KclError,
  call,
  callAsync,
  version: native.version,
  run: (code, settings) => result(call('KclService.ExecProgram', program(['main.k'], [code], settings))),
  runAsync: async (code, settings) =>
    result(await callAsync('KclService.ExecProgram', program(['main.k'], [code], settings))),
  runFiles: (files, settings) => result(call('KclService.ExecProgram', program(list(files), [], settings))),
  formatCode: (source) => Buffer.from(call('KclService.FormatCode', { source }).formatted, 'base64').toString(),
  formatPath: (path, dryRun = false) => call('KclService.FormatPath', { path, dry_run: dryRun }).changed_paths,
  lint: (paths) => call('KclService.LintPath', { paths: list(paths) }).results,
  overrideFile (file, specs, importPaths = []) {
    const answer = call('KclService.OverrideFile', { file, specs: list(specs), import_paths: importPaths })
    if (answer.parse_errors.length > 0) throw new KclError(answer.parse_errors[0].messages[0].msg)
    return answer.result
  },
  validate (code, data, { schema = '', format = 'json', attribute = 'value' } = {}) {
    const answer = call('KclService.ValidateCode', { code, data, schema, format, attribute_name: attribute })
    if (!answer.success) throw new KclError(answer.err_message)
  },
  listVariables: (files, specs = []) => call('KclService.ListVariables', { files: list(files), specs }).variables,
  listOptions: (paths) => call('KclService.ListOptions', { paths: list(paths) }).options,
  schemaTypes: (files, schema = '') =>
    call('KclService.GetSchemaTypeMapping', { exec_args: { k_filename_list: list(files) }, schema_name: schema })
      .schema_type_mapping,
  rename: (packageRoot, symbol, files, newName) =>
    call('KclService.Rename', { package_root: packageRoot, symbol_path: symbol, file_paths: files, new_name: newName })
      .changed_files,
  test: (packages, { workDir = '', run = '', failFast = false } = {}) =>
    call('KclService.Test', { exec_args: { work_dir: workDir }, pkg_list: list(packages), run_regexp: run, fail_fast: failFast })
      .info
}
