'use strict'

const assert = require('node:assert')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { test } = require('node:test')
const kcl = require('..')

function folder () {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'kcl-'))
}

test('a text runs', () => {
  assert.strictEqual(kcl.run('a = option("n", default=3)', { options: { n: undefined } }).yaml, 'a: 3')
  const result = kcl.run('a = option("n") + 1\nprint("x")', { options: { n: 1 } })
  assert.deepStrictEqual([result.yaml, result.value, result.log], ['a: 2', { a: 2 }, 'x\n'])
  assert.strictEqual(kcl.run('b = 1\na = 2', { sort_keys: true }).yaml, 'a: 2\nb: 1')
  const stream = kcl.run('import manifests\nmanifests.yaml_stream([{a = 1}, {b = 2}])')
  assert.deepStrictEqual(stream.value, [{ a: 1 }, { b: 2 }])
})

test('errors are exceptions', async () => {
  assert.throws(() => kcl.run('a: int = "x"'), { name: 'KclError', message: /expected int/ })
  assert.throws(() => kcl.run('a = [1][2]'), { name: 'KclError', message: /out of range/ })
  assert.throws(() => kcl.call('KclService.Nope'), /no method/)
  await assert.rejects(kcl.runAsync('a ='), { name: 'KclError', message: /InvalidSyntax/ })
})

test('files are run, changed and formatted', () => {
  const file = path.join(folder(), 'main.k')
  fs.writeFileSync(file, '# kept\napp = {image = "pay:v1"}\n')
  assert.deepStrictEqual(kcl.runFiles('main.k', { workDir: path.dirname(file) }).value, { app: { image: 'pay:v1' } })
  assert.ok(kcl.overrideFile(file, 'app.image="pay:v42"'))
  assert.strictEqual(fs.readFileSync(file, 'utf8'), '# kept\napp = {image = "pay:v42"}\n')
  assert.ok(!kcl.overrideFile(file, 'zz-'))
  assert.strictEqual(kcl.listVariables(file, ['app.image'])['app.image'].variables[0].value, '"pay:v42"')
  assert.deepStrictEqual(kcl.rename(path.dirname(file), 'app', [file], 'service'), [file])
  assert.deepStrictEqual(kcl.formatPath(file), [])
  assert.deepStrictEqual(kcl.lint(file), [])
  assert.strictEqual(kcl.formatCode('a=1'), 'a = 1\n')
})

test('data is checked', () => {
  const code = 'schema User:\n    age: int\n    check:\n        age > 0, "too young"\n'
  kcl.validate(code, '{"age": 1}')
  assert.throws(() => kcl.validate(code, 'age: 0', { format: 'yaml', schema: 'User' }), /too young/)
})

test('schemas, options and cases are data', () => {
  const place = folder()
  fs.writeFileSync(path.join(place, 'main.k'), 'schema S:\n    """About S."""\n    a: int = option("a")\n')
  fs.writeFileSync(path.join(place, 'main_test.k'), 'test_ok = lambda { assert True }\ntest_bad = lambda { assert False }\n')
  assert.strictEqual(kcl.schemaTypes(path.join(place, 'main.k')).S.schema_doc, 'About S.')
  assert.deepStrictEqual(kcl.listOptions(path.join(place, 'main.k')).map((option) => option.name), ['a'])
  assert.deepStrictEqual(kcl.test(place).map((found) => found.error !== ''), [false, true])
})

test('many calls at a time do not block the loop', async () => {
  const results = await Promise.all(Array.from({ length: 20 }, () => kcl.runAsync('a = 1')))
  assert.ok(results.every((result) => result.yaml === 'a: 1'))
  assert.match(kcl.version(), /^\d+\.\d+\.\d+$/)
})
