module agebox

go 1.26.0

require filippo.io/age v1.3.2
