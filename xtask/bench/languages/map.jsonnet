// A map of 10,000 keys.
{ d: {
  ['key-' + i]: { name: 'name-' + i, value: std.toString(i * 2), even: i % 2 == 0 }
  for i in std.range(0, 9999)
} }
